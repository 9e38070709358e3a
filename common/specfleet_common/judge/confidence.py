"""Bounds of an effect that hold at every look, however often one looks and whenever one stops.

With e the contributions of the clusters, S = sum(e) and V = sum(e^2), exp(l S - l^2 V / 2) is a
supermartingale for every l when each e is symmetric about zero (de la Peña, Annals of Probability
27, 1999), for any tails and any number of clusters; otherwise it holds in the limit of many
(Waudby-Smith et al., arXiv 2103.06476). Mixed over l ~ half-normal of variance 1/r it gives the
one-sided boundary of `radius` (Howard et al., arXiv 1810.08240, section 3.2, the closed form).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specfleet_common.judge.totals import Numbers, Totals

Flags = NDArray[np.bool_]

_DISTANCES = tuple(1e-4 * 2.0**step for step in range(17))
_HALVINGS = 50
_SMALLEST_RATIO = 1e-6


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """Bounds of an effect as clusters come in."""

    scale: float
    """r, the variance around which the bounds are tightest; 10 times wrong costs about 10 %."""
    minimum_clusters: float
    """Effective clusters below which nothing is concluded: too far from the limit of many."""

    unseen_loss: float = 0.0
    """A gain is claimed only if it would be sure with one more cluster that shows this loss.

    Until a rare kind of traffic that the candidate is bad at has been seen, the rest varies little
    and looks sure. No bound can exclude what is unseen; this says how bad it may be.
    """

    def radius(self, variance: Numbers, alpha: Numbers | float) -> Numbers:
        """Return u(V), which S exceeds at any look at all with a probability of at most alpha."""
        total = variance + self.scale
        odds = np.sqrt(total / self.scale) / (2 * np.asarray(alpha))
        return np.asarray(np.sqrt(2 * total * np.log1p(odds)))

    def enough(self, totals: Totals) -> Flags:
        """Say whether there are clusters enough to conclude anything."""
        return np.asarray(totals.effective_clusters >= self.minimum_clusters)

    def above(self, totals: Totals, gain: Numbers | float, alpha: Numbers | float) -> Flags:
        """Say whether the effect is surely more than `gain`."""
        hedged = totals.with_loss(self.unseen_loss) if self.unseen_loss else totals
        margin = hedged.excess(gain) - self.radius(hedged.variance(gain), alpha)
        return np.asarray(self.enough(totals) & (margin > 0))

    def below(self, totals: Totals, gain: Numbers | float, alpha: Numbers | float) -> Flags:
        """Say whether the effect is surely less than `gain`."""
        margin = -totals.excess(gain) - self.radius(totals.variance(gain), alpha)
        return np.asarray(self.enough(totals) & (margin > 0))

    def lower(self, totals: Totals, alpha: Numbers | float) -> Numbers:
        """Return the largest gain that the effect is surely above, -1 where there is none."""
        return self._border(totals, alpha, outwards=-1)

    def upper(self, totals: Totals, alpha: Numbers | float) -> Numbers:
        """Return the smallest gain that the effect is surely below, infinity if there is none."""
        return self._border(totals, alpha, outwards=1)

    def _border(self, totals: Totals, alpha: Numbers | float, *, outwards: int) -> Numbers:
        """Go from the estimate until a gain is excluded, twice as far each time, then halve.

        Distances are in the logarithm of 1 + gain. Once a gain is excluded, so is what lies beyond.
        """
        surely = self.below if outwards > 0 else self.above
        estimate = np.log(np.maximum(1 + np.nan_to_num(totals.gain), _SMALLEST_RATIO))
        inside, outside = np.zeros(estimate.shape), np.full(estimate.shape, np.inf)
        for distance in _DISTANCES:
            out = surely(totals, np.expm1(estimate + outwards * distance), alpha)
            outside = np.where(out & np.isinf(outside), distance, outside)
            inside = np.where(np.isinf(outside), distance, inside)
        found = np.isfinite(outside)
        outside = np.where(found, outside, 0.0)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            out = surely(totals, np.expm1(estimate + outwards * middle), alpha)
            inside, outside = np.where(out, inside, middle), np.where(out, middle, outside)
        border = np.expm1(estimate + outwards * outside)
        return np.where(found, border, np.inf if outwards > 0 else -1.0)
