"""The margin rule: every emitted token is the target's first choice, up to near-ties. Pure.

Batches of other shapes sum in another order, so that two tokens which are equal but for the last
digits may change places; from there on two right texts differ.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from e2e.audits.asking import Rating, Tokens


class Verdict(enum.StrEnum):
    """What an answer is, next to that of the plain engine."""

    EQUAL = "equal"
    NEAR_TIE = "near-tie"
    """Another text, each of whose tokens is as good as the target's first choice."""
    VIOLATION = "violation"
    """Some token is not what the target would have chosen."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer's verdict and its reasons; a gap is the distance to the first choice in nats."""

    verdict: Verdict
    difference: int | None
    """The first token that is another than the plain engine's, None where the texts are equal."""
    difference_gap: float
    largest_gap: float
    largest_at: int


def judge(output: Tokens, reference: Tokens, ratings: Sequence[Rating], *, margin: float) -> Judged:
    """Say what an answer is; `ratings` are those of the tokens of `output`."""
    gaps = [rating.gap for rating in ratings]
    largest = max(range(len(gaps)), key=gaps.__getitem__)
    difference = first_difference(output, reference)
    if gaps[largest] > margin:
        verdict = Verdict.VIOLATION
    elif difference is None:
        verdict = Verdict.EQUAL
    else:
        verdict = Verdict.NEAR_TIE
    gap = gaps[difference] if difference is not None and difference < len(gaps) else 0.0
    return Judged(verdict, difference, gap, gaps[largest], largest)


def first_difference(output: Tokens, reference: Tokens) -> int | None:
    """Return the place of the first token that differs, or is missing from one of the two."""
    for place, (one, other) in enumerate(zip(output, reference, strict=False)):
        if one != other:
            return place
    return None if len(output) == len(reference) else min(len(output), len(reference))


def with_second_choice(
    output: Tokens, ratings: Sequence[Rating], *, margin: float
) -> Tokens | None:
    """Return the answer up to a token that is the second choice: wrong, and as little as can be.

    None when the target is undecided at every place.
    """
    wrong = [place for place, rating in enumerate(ratings) if rating.second_gap > margin]
    if not wrong:
        return None
    place = min(wrong, key=lambda one: ratings[one].second_gap)
    return (*output[:place], ratings[place].second)


def counted(judged: Iterable[Judged]) -> dict[str, int]:
    """Return how many answers have each verdict."""
    verdicts = [one.verdict for one in judged]
    return {verdict.value: verdicts.count(verdict) for verdict in Verdict}
