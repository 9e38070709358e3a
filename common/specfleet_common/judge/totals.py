"""Sums over clusters of two quantities whose ratio is the effect.

The effect is gain = sum(a) / sum(b) - 1. Whether it is more than g is a question about one mean: is
a - (1 + g) b above zero? (Fieller's way of testing a ratio; no delta method is needed.) A cluster
is what may be dependent inside and is independent of the others: a conversation, a pair of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What one cluster adds: numerator, denominator, and how much it weighs."""

    a: float
    b: float
    weight: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Moments of clusters, of any one shape: a simulation holds many judgements at once."""

    a: Numbers
    b: Numbers
    aa: Numbers
    ab: Numbers
    bb: Numbers
    weight: Numbers
    weight_squared: Numbers
    count: Numbers

    @property
    def gain(self) -> Numbers:
        """Return the estimate of the effect; NaN where nothing was counted."""
        unknown = np.full(self.b.shape, np.nan)
        return np.asarray(np.divide(self.a, self.b, out=unknown, where=self.b > 0) - 1)

    @property
    def effective_clusters(self) -> Numbers:
        """Return how many equal clusters would weigh as unevenly: (sum w)^2 / sum(w^2) (Kish)."""
        weighed = self.weight_squared > 0
        return np.divide(
            self.weight**2, self.weight_squared, out=np.zeros(self.weight.shape), where=weighed
        )

    def excess(self, gain: Numbers | float) -> Numbers:
        """Return sum(e) of e = a - (1 + gain) b: above zero if the effect is more than `gain`."""
        return np.asarray(self.a - (1 + gain) * self.b)

    def variance(self, gain: Numbers | float) -> Numbers:
        """Return sum(e^2): not centred, as e has mean zero when the effect is `gain`."""
        ratio = 1 + np.asarray(gain)
        return np.maximum(self.aa - 2 * ratio * self.ab + ratio**2 * self.bb, 0.0)

    def with_loss(self, loss: float) -> Totals:
        """Return the totals with one more cluster, an average one but for an effect of -`loss`."""
        a = np.divide(self.a, self.count, out=np.zeros(self.a.shape), where=self.count > 0)
        b = a / (1 - loss)
        weight = np.divide(self.weight, self.count, out=np.zeros(a.shape), where=self.count > 0)
        return Totals(
            a=self.a + a,
            b=self.b + b,
            aa=self.aa + a * a,
            ab=self.ab + a * b,
            bb=self.bb + b * b,
            weight=self.weight + weight,
            weight_squared=self.weight_squared + weight**2,
            count=self.count + 1,
        )

    def inverted(self) -> Totals:
        """Return the totals of the inverse effect: of b over a."""
        return replace(self, a=self.b, b=self.a, aa=self.bb, bb=self.aa)

    def times(self, factor: float) -> Totals:
        """Return the totals of `factor` times as many clusters like these."""
        return Totals(*(factor * getattr(self, field.name) for field in fields(self)))


def add_up(clusters: Iterable[Cluster]) -> Totals:
    """Return the totals of some clusters, exactly rounded, so that no order of them matters."""
    rows = [(one.a, one.b, one.weight) for one in clusters]
    return Totals(
        a=_sum(a for a, _, _ in rows),
        b=_sum(b for _, b, _ in rows),
        aa=_sum(a * a for a, _, _ in rows),
        ab=_sum(a * b for a, b, _ in rows),
        bb=_sum(b * b for _, b, _ in rows),
        weight=_sum(weight for _, _, weight in rows),
        weight_squared=_sum(weight * weight for _, _, weight in rows),
        count=np.asarray(float(len(rows))),
    )


def _sum(values: Iterable[float]) -> Numbers:
    return np.asarray(math.fsum(values))
