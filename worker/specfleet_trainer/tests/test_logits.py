from __future__ import annotations

import pytest
import torch

from specfleet_trainer.logits import (
    BLOCK_ROWS,
    best_tokens,
    precise_logits,
    precise_own_logits,
    top_tokens,
)


def random(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_products_of_bfloat16_matrices_are_not_rounded_to_bfloat16() -> None:
    rows, table = random(5, 300).bfloat16(), random(40, 300, seed=4).bfloat16()

    logits = precise_logits(rows, table)

    expected = rows.double() @ table.double().T
    torch.testing.assert_close(logits.double(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_with_vectors_of_their_own(dtype: torch.dtype) -> None:
    rows, own = random(5, 300).to(dtype), random(5, 7, 300, seed=4).to(dtype)

    logits = precise_own_logits(rows, own)

    expected = (rows.double()[:, None] * own.double()).sum(-1)
    torch.testing.assert_close(logits.double(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("vocabulary", [40, 3 * 256, 40 * 256 + 77])
def test_the_top_tokens_are_those_of_all_logits_together(vocabulary: int) -> None:
    output, lm_head = random(BLOCK_ROWS + 3, 8), random(vocabulary, 8, seed=4)

    tokens = top_tokens(output, lm_head, 32)

    assert torch.equal(tokens, (output @ lm_head.T).topk(32).indices)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_best_tokens_are_those_of_exact_logits(dtype: torch.dtype) -> None:
    output = random(2 * BLOCK_ROWS + 3, 64).to(dtype)
    lm_head = random(3000, 64, seed=4).to(dtype)

    tokens = best_tokens(output, lm_head)

    assert torch.equal(tokens, (output.double() @ lm_head.double().T).argmax(-1))
