"""Do counts come from the probabilities they should? An exact G-test, by simulation. Pure.

The statistic of a group of multinomial draws is the sum of their G = 2 sum O ln(O / E). Its p-value
is the share of simulated groups with at least as much, so it holds for any number of draws (Davison
and Hinkley, Bootstrap Methods, 4.2). Several groups are held to one error rate by Holm's procedure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from e2e.audits.trees import Cell, Counts, Numbers

SIMULATIONS = 50_000
POWER_SIMULATIONS = 2_000
POWER = 0.9
CONTROL_FACTOR = 2.0
"""The control is wrong by so many times the distance that is found with probability POWER."""
_BISECTIONS = 10


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of one group; a distance is half the sum of the differences of probabilities."""

    cells: int
    visits: int
    categories: int
    statistic: float
    p_value: float
    found_distance: float
    """The least that is found with probability POWER at the strictest level of Holm's procedure."""
    control_p_value: float
    """Of the same counts, with probabilities that are wrong by CONTROL_FACTOR as much."""


def examine(cells: Sequence[Cell], *, level: float, rng: np.random.Generator) -> Tested:
    """Test one group of draws; `level` is the strictest that its p-value may be held to."""
    null = _simulated(cells, cells, SIMULATIONS, rng)
    critical = float(np.quantile(null, 1 - level))
    distance = _found_distance(cells, critical, rng)
    wrong = shifted(cells, CONTROL_FACTOR * distance)
    observed, control = statistic(cells), statistic(wrong)
    return Tested(
        cells=len(cells),
        visits=sum(cell.visits for cell in cells),
        categories=sum(len(cell.counts) for cell in cells),
        statistic=observed,
        p_value=_share(null, observed),
        found_distance=distance,
        control_p_value=_share(_simulated(wrong, wrong, SIMULATIONS, rng), control),
    )


def statistic(cells: Sequence[Cell]) -> float:
    """Return the group's G for the counts that came."""
    return float(sum(_g(cell.counts[np.newaxis], cell.probabilities)[0] for cell in cells))


def shifted(cells: Sequence[Cell], distance: float) -> list[Cell]:
    """Return the cells with probability moved from the most likely category to all others.

    As much as the total variation distance says, or all but a thousandth of it.
    """
    moved = []
    for cell in cells:
        first, others = cell.probabilities[0], cell.probabilities[1:]
        taken = min(distance, first - 1e-3)
        moved.append(
            Cell(np.array([first - taken, *(others * (1 + taken / others.sum()))]), cell.counts)
        )
    return moved


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted so that the chance of any false alarm stays what it is for one."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p_value) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_value))
        adjusted[name] = largest
    return adjusted


def _found_distance(cells: Sequence[Cell], critical: float, rng: np.random.Generator) -> float:
    """Return the distance of `shifted` cells whose draws exceed the critical value often enough."""
    low, high = 0.0, float(max(cell.probabilities[0] for cell in cells))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        drawn = _simulated(shifted(cells, middle), cells, POWER_SIMULATIONS, rng)
        if (drawn > critical).mean() >= POWER:
            high = middle
        else:
            low = middle
    return high


def _simulated(
    drawn_from: Sequence[Cell], held_to: Sequence[Cell], number: int, rng: np.random.Generator
) -> Numbers:
    total = np.zeros(number)
    for source, cell in zip(drawn_from, held_to, strict=True):
        counts = rng.multinomial(source.visits, source.probabilities, size=number)
        total += _g(counts, cell.probabilities)
    return total


def _g(counts: Counts, probabilities: Numbers) -> Numbers:
    """Return G of each row of counts."""
    expected = counts.sum(axis=1, keepdims=True) * probabilities
    ratio = np.where(counts > 0, counts / expected, 1.0)
    return np.asarray(2 * (counts * np.log(ratio)).sum(axis=1))


def _share(simulated: Numbers, observed: float) -> float:
    """Return the p-value, which is never 0."""
    return float((1 + (simulated >= observed).sum()) / (1 + len(simulated)))
