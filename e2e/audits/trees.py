"""Continuations of one context as a tree: which token follows which prefix how often. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from e2e.audits.asking import Tokens

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

MIN_EXPECTED = 5.0
"""Tokens that are expected less often share a category."""


@dataclass(frozen=True, slots=True)
class Node:
    """A prefix that came often, and how often each token came after it."""

    prefix: Tokens
    visits: int
    next: Mapping[int, int]

    @property
    def place(self) -> int:
        """Return which token of the answer comes next; the first one is never drafted."""
        return len(self.prefix) + 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One multinomial draw: categories, the most likely first, and how often each came."""

    probabilities: Numbers
    counts: Counts

    @property
    def visits(self) -> int:
        """Return how many tokens were drawn."""
        return int(self.counts.sum())


def nodes(continuations: Sequence[Tokens], *, min_visits: int) -> list[Node]:
    """Return the prefixes that came at least so often, shorter ones first.

    Whether a prefix is among them depends only on what came before, so that the tokens after it
    are as random as ever.
    """
    following: dict[Tokens, Counter[int]] = {}
    for tokens in continuations:
        for place, token in enumerate(tokens):
            following.setdefault(tokens[:place], Counter())[token] += 1
    found = [Node(prefix, next_.total(), next_) for prefix, next_ in following.items()]
    often = [node for node in found if node.visits >= min_visits]
    return sorted(often, key=lambda node: (node.place, -node.visits, node.prefix))


def cell(node: Node, likely: Mapping[int, float]) -> Cell | None:
    """Sort a node's tokens into categories; None when nearly all is one token.

    `likely` has the target's probabilities of its most likely tokens, the first one first.
    """
    own = {
        token: probability
        for token, probability in likely.items()
        if probability * node.visits >= MIN_EXPECTED
    }
    while own and (rest := 1.0 - sum(own.values())) * node.visits < MIN_EXPECTED:
        own.popitem()
    if not own:
        return None
    counts = [node.next.get(token, 0) for token in own]
    return Cell(
        np.array([*own.values(), rest]),
        np.array([*counts, node.visits - sum(counts)]),
    )
