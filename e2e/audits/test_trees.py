"""Continuations become a tree of prefixes, and its nodes become draws to test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.audits.trees import MIN_EXPECTED, Node, cell, nodes

continuations = st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3).map(tuple), min_size=1)


def test_prefixes_that_came_often_enough_are_nodes() -> None:
    found = nodes([(1, 2), (1, 3), (1, 2), (4, 2)], min_visits=3)

    assert found == [Node((), 4, {1: 3, 4: 1}), Node((1,), 3, {2: 2, 3: 1})]
    assert [node.place for node in found] == [1, 2]


@given(continuations)
def test_every_token_is_counted_after_exactly_one_prefix(
    drawn: list[tuple[int, ...]],
) -> None:
    found = nodes(drawn, min_visits=1)

    assert sum(node.visits for node in found) == 3 * len(drawn)
    assert all(sum(node.next.values()) == node.visits for node in found)


def test_rare_tokens_share_a_category() -> None:
    node = Node((), 100, {1: 60, 2: 31, 3: 4, 8: 5})

    found = cell(node, {1: 0.6, 2: 0.3, 3: 0.04, 4: 0.02})

    assert found is not None
    assert found.counts.tolist() == [60, 31, 9]
    assert found.probabilities == pytest.approx([0.6, 0.3, 0.1])


def test_a_category_that_would_be_too_rare_takes_in_the_next() -> None:
    node = Node((), 100, {1: 60, 2: 39, 3: 1})

    found = cell(node, {1: 0.6, 2: 0.37, 3: 0.03})

    assert found is not None
    assert found.counts.tolist() == [60, 40]


def test_a_prefix_that_has_one_continuation_says_nothing() -> None:
    assert cell(Node((), 100, {1: 100}), {1: 0.97, 2: 0.03}) is None


@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8),
    st.integers(1, 500),
)
def test_every_category_is_expected_often_enough(weights: list[float], visits: int) -> None:
    likely = {
        token: weight / (1.1 * sum(weights))
        for token, weight in enumerate(sorted(weights, reverse=True))
    }

    found = cell(Node((), visits, {0: visits}), likely)

    if found is not None:
        assert found.visits == visits
        assert found.probabilities.sum() == pytest.approx(1.0)
        assert (found.probabilities * visits >= MIN_EXPECTED - 1e-9).all()
        assert len(np.atleast_1d(found.counts)) >= 2
