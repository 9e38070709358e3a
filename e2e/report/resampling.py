"""How sure a mean is: bootstrap intervals. Pure, with its own seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000


def bootstrap_interval(
    values: Sequence[float], *, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile interval of the mean of independent values."""
    if not values:
        raise ValueError("there are no values, expected at least one")
    drawn = np.random.default_rng(seed).choice(np.asarray(values), (RESAMPLES, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
