from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specfleet_trainer.loss import BLOCK_ROWS
from specfleet_trainer.replay import compare_drafts
from specfleet_trainer.sequences import Drafts
from specfleet_trainer.tests.builders import sequence, tiny
from specfleet_trainer.walk import Walk, best_tokens, step_walk, total, walk

DEPTHS = 3


@pytest.mark.parametrize(
    ("acceptable", "expected"),
    [
        pytest.param([0, 0, 0], Walk(3, 3, (0, 0, 0)), id="nothing-accepted"),
        pytest.param([3, 9, 9, 9, 1, 9], Walk(2, 6, (2, 1, 1)), id="jumps-over-what-is-accepted"),
        pytest.param([0, 2, 9], Walk(2, 3, (1, 1, 0)), id="the-end-is-inside-a-jump"),
        pytest.param([], Walk(0, 0, (0, 0, 0)), id="nothing-to-draft"),
    ],
)
def test_walk(acceptable: list[int], expected: Walk) -> None:
    assert walk(acceptable, DEPTHS) == expected


@given(st.lists(st.integers(0, DEPTHS), max_size=30))
def test_a_walk_needs_at_least_one_step_for_every_depths_plus_one_tokens(
    acceptable: list[int],
) -> None:
    result = walk(acceptable, DEPTHS)

    assert len(acceptable) / (DEPTHS + 1) <= result.verify_steps <= len(acceptable)
    assert list(result.accepted) == sorted(result.accepted, reverse=True)


def test_the_walk_equals_drafting_after_each_row_in_turn(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=40, prompt_tokens=5)
    item.tokens[20:] = item.tokens[20]
    item.fed[:] = item.tokens[1:]

    result = step_walk(head, tables, item, DEPTHS)

    row, steps, accepted = 4, 0, [0] * DEPTHS
    while row < item.rows - 1:
        true = [int(token) for token in item.tokens[row + 2 : row + 2 + DEPTHS]]
        drafted = replace(item, drafts={row: Drafts("x", (*true, *[0] * (DEPTHS - len(true))))})
        parities = compare_drafts(head, tables, drafted, DEPTHS)
        right = 0
        while right < len(true) and parities[right].equal:
            accepted[right] += 1
            right += 1
        steps, row = steps + 1, row + right + 1
    assert result == Walk(steps, item.rows - 5, tuple(accepted))


def test_the_best_tokens_are_those_of_all_logits_together() -> None:
    random = torch.Generator().manual_seed(3)
    output = torch.randn(2 * BLOCK_ROWS + 3, 8, generator=random)
    lm_head = torch.randn(30, 8, generator=random)

    tokens = best_tokens(output, lm_head)

    assert torch.equal(tokens, (output @ lm_head.T).argmax(-1))


def test_a_sequence_without_output_walks_nowhere(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)

    result = step_walk(head, tables, sequence(rows=4, prompt_tokens=5), DEPTHS)

    assert result == Walk(0, 0, (0, 0, 0))


def test_walks_add_up() -> None:
    assert total([Walk(1, 2, (1, 0)), Walk(2, 3, (1, 1))], 2) == Walk(3, 5, (2, 1))
