"""How much more traffic a decision probably needs, if what comes is like what came."""

from __future__ import annotations

import math

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.totals import Totals

_FARTHEST = 1000.0
_HALVINGS = 30


def needed_growth(
    sequence: ConfidenceSequence,
    totals: Totals,
    *,
    gain: float,
    above_alpha: float,
    below_alpha: float,
) -> float | None:
    """Return by what factor the evidence must grow until it says on which side of `gain` it is.

    1 says that it does already; None that a thousand times as much would not do.
    """

    def decided(factor: float) -> bool:
        grown = totals.times(factor)
        above = sequence.above(grown, gain, above_alpha)
        return bool(above | sequence.below(grown, gain, below_alpha))

    if decided(1.0):
        return 1.0
    if not decided(_FARTHEST):
        return None
    low, high = 1.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


def more(count: int, growth: float) -> int:
    """Return how many more of what there are `count` of, rounded up to two digits."""
    missing = math.ceil(count * (growth - 1))
    unit: int = 10 ** max(0, len(str(missing)) - 2)
    return -(-missing // unit) * unit
