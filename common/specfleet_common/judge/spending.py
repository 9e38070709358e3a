"""The error budget of a lineage, over all its promotions.

The online fallback procedure (Tian and Ramdas, arXiv 1910.04900): promotion v of a lineage gets
alpha_v = alpha 6 / (pi^2 v^2), plus alpha_(v-1) when promotion v-1 ended with a new stable: what a
right decision was allowed to cost is not lost. The chance that a lineage ever promotes a candidate
that it should not is at most alpha, whatever the dependence between its promotions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def promotion_alpha(alpha: float, promoted: Iterable[bool]) -> float:
    """Return the budget of the next promotion, given how those before it ended, oldest first.

    Every promotion whose evidence was looked at counts, also an aborted one; one that was
    superseded before its first look does not.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, expected a number above 0 and below 1")
    level = share = alpha * _share(1)
    for number, successful in enumerate(promoted, start=2):
        share = alpha * _share(number)
        level = share + (level if successful else 0.0)
    return level


def _share(number: int) -> float:
    return 6 / (math.pi * number) ** 2
