from __future__ import annotations

import torch
from torch import Tensor

from specfleet_trainer.attention import (
    MAX_KEPT_SCORES,
    KeyValue,
    Rotation,
    Span,
    tree_attention,
)


def attend(
    spans: list[Span], *, max_kept_scores: int = MAX_KEPT_SCORES
) -> tuple[Tensor, list[Tensor]]:
    """Return the result for random inputs, and the gradients of all inputs."""
    random = torch.Generator().manual_seed(1)

    def new(rows: int, heads: int) -> Tensor:
        return torch.randn(rows, heads, 4, generator=random).requires_grad_()

    rows = sum(span.rows for span in spans)
    queries = sum(span.queries for span in spans)
    query, context = new(queries, 4), KeyValue(new(rows, 2), new(rows, 2))
    chain = [KeyValue(new(queries, 2), new(queries, 2)) for _ in range(2)]
    result = tree_attention(query, context, chain, spans, max_kept_scores=max_kept_scores)
    inputs = [query, context.key, context.value]
    inputs += [tensor for link in chain for tensor in (link.key, link.value)]
    return result, list(torch.autograd.grad(result.square().sum(), inputs))


def test_blocks_change_neither_results_nor_gradients() -> None:
    spans = [Span(rows=11, first=2, queries=9), Span(rows=7, first=0, queries=5)]
    whole = attend(spans)

    blocked = attend(spans, max_kept_scores=4 * 11 * 2)

    torch.testing.assert_close(blocked, whole)


def test_rows_after_a_query_do_not_count() -> None:
    _, gradients = attend([Span(rows=9, first=1, queries=4)])

    assert gradients[1][:5].any(dim=(1, 2)).all()
    assert not gradients[1][5:].any()


def test_what_comes_after_the_spans_is_seen_by_nobody_and_gets_nothing() -> None:
    random = torch.Generator().manual_seed(1)
    query = torch.randn(3, 2, 4, generator=random)
    key, value = torch.randn(2, 4, 2, 4, generator=random)
    link = KeyValue(*torch.randn(2, 3, 2, 4, generator=random))

    alone = tree_attention(
        query[:2],
        KeyValue(key[:2], value[:2]),
        [KeyValue(link.key[:2], link.value[:2])],
        [Span(2, 0, 2)],
    )
    followed = tree_attention(query, KeyValue(key, value), [link], [Span(2, 0, 2)])

    assert torch.equal(followed[:2], alone)
    assert not followed[2:].any()


def test_a_single_row_without_a_chain_returns_its_own_value() -> None:
    value = torch.randn(1, 2, 4)

    result = tree_attention(
        torch.randn(1, 2, 4), KeyValue(torch.randn(1, 2, 4), value), [], [Span(1, 0, 1)]
    )

    torch.testing.assert_close(result, value.view(1, 8))


def test_rotation_makes_scores_depend_on_the_distance_only() -> None:
    query, key = torch.randn(1, 1, 8), torch.randn(1, 1, 8)

    scores = [
        (
            Rotation.at(torch.tensor([at]), 8, theta=100.0).apply(query)
            * Rotation.at(torch.tensor([at - 3]), 8, theta=100.0).apply(key)
        ).sum()
        for at in (3, 50, 700)
    ]

    torch.testing.assert_close(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(scores[0], scores[2], rtol=1e-4, atol=1e-4)
