"""Ratios of what two engines did in the same stretches of time, with their uncertainty. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from e2e.report.resampling import bootstrap_interval
from e2e.timeline import Span, within


@dataclass(frozen=True, slots=True)
class Ratio:
    """A mean ratio with its 95 % bootstrap interval over so many pairs of stretches."""

    value: float
    low: float
    high: float
    pairs: int


def mean_ratio(ones: Iterable[float], others: Iterable[float], *, seed: int) -> Ratio:
    """Return the mean of pairwise ratios (of their logarithms); pairs with a zero are left out."""
    pairs = zip(ones, others, strict=True)
    logarithms = [math.log(one / other) for one, other in pairs if one and other]
    low, high = bootstrap_interval(logarithms, seed=seed)
    return Ratio(math.exp(fmean(logarithms)), math.exp(low), math.exp(high), len(logarithms))


def tokens_between(spans: Sequence[Span], moments: Sequence[float]) -> list[int]:
    """Return the tokens of each stretch between two moments."""
    return [
        sum(span.tokens for span in within(spans, begin, end))
        for begin, end in itertools.pairwise(moments)
    ]
