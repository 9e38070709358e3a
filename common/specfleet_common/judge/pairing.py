"""Rates of two arms, compared inside cells in which all else is alike.

The ratio of rates of Mantel and Haenszel for amounts over exposures (Greenland and Robins, 1985):
a cell adds a = x1 t0 / (t0 + t1) and b = x0 t1 / (t0 + t1), here divided by the cell's rate of both
arms together. A cell that one arm did not visit adds nothing, so that a shift of the traffic
between the arms moves no weight from one to the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import astuple, dataclass

import numpy as np

from specfleet_common.judge.switchback import Arm
from specfleet_common.judge.totals import Cluster, Numbers


@dataclass(frozen=True, slots=True)
class Observation:
    """What one arm did in one cell of one cluster: an amount (tokens) in an exposure (seconds)."""

    cluster: Hashable
    stratum: Hashable
    arm: Arm
    amount: float
    exposure: float


def paired_clusters(observations: Iterable[Observation], *, unit: float) -> list[Cluster]:
    """Return the clusters that both arms visited; `unit` is the exposure that weighs one."""
    cells: dict[tuple[Hashable, Hashable], dict[Arm, tuple[float, float]]] = defaultdict(
        lambda: {Arm.TRIAL: (0.0, 0.0), Arm.BASE: (0.0, 0.0)}
    )
    for seen in observations:
        cell = cells[seen.cluster, seen.stratum]
        amount, exposure = cell[seen.arm]
        cell[seen.arm] = (amount + seen.amount, exposure + seen.exposure)
    parts: dict[Hashable, list[Cluster]] = defaultdict(list)
    for (cluster, _), cell in cells.items():
        a, b, weight = cell_terms(*cell[Arm.TRIAL], *cell[Arm.BASE])
        parts[cluster].append(Cluster(float(a) / unit, float(b) / unit, float(weight) / unit))
    clusters = [
        Cluster(*(math.fsum(values) for values in zip(*map(astuple, cells), strict=True)))
        for cells in parts.values()
    ]
    return [cluster for cluster in clusters if cluster.weight > 0]


def cell_terms(
    x1: Numbers | float, t1: Numbers | float, x0: Numbers | float, t0: Numbers | float
) -> tuple[Numbers, Numbers, Numbers]:
    """Return what cells add to a, to b and to the weight: amounts x in exposures t, trial first."""
    amount, exposure = np.asarray(x1) + x0, np.asarray(t1) + t0
    both = (np.minimum(t1, t0) > 0) & (amount > 0)
    amount, exposure = np.where(both, amount, 1.0), np.where(both, exposure, 1.0)
    return (
        np.where(both, x1 * t0 / amount, 0.0),
        np.where(both, x0 * t1 / amount, 0.0),
        np.where(both, t1 * t0 / exposure, 0.0),
    )
