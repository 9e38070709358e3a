"""How a promotion's effect and its bounds came about, phase by phase, as a picture.

`series` is pure: records in the order in which they were stored, points out. Drawing needs
matplotlib, which is imported only then. Knows nothing of stores and of ledgers.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from specfleet_cli.drawing import BAD, GOOD, INK, MUTED, SERIES, WIDE_INCHES, finish, styled
from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.totals import Totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 200

Record = TypeVar("Record")

_HEIGHT, _GUARD_HEIGHT = 3.1, 2.6
_NARROW_EXTRA = 0.5
"""For the rows of a legend that does not fit in one."""
_MARK_ROW_POINTS = 12.0
_SPACE, _SPACE_FOR_MARK = 0.1, 0.12
"""Below and above what is shown, and for each mark; shares of its height."""
_LEAST_TOP = 150.0
"""Of a guard's rise: what is allowed, and room for words above it."""
_WIDEST = 0.5
"""Bounds beyond half are cut: what is known of the first records is next to nothing."""
_MOST_SHARE = 4.0


@dataclass(frozen=True, slots=True)
class Point:
    """The effect and its bounds after so many records, as fractions; bounds may be infinite."""

    num_records: int
    gain: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Mark:
    """What was decided when so many records were there."""

    num_records: int
    text: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One phase: its effect over time, what it had to exceed, and what was decided."""

    title: str
    measure: str
    """What the effect is a gain in: `tokens per verify step`."""
    records: str
    """What is counted from left to right: `requests`."""
    points: tuple[Point, ...]
    at_least: float
    at_least_name: str
    """What that bound is to a reader: `minimumGain`."""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """One thing that must not get worse: its rise, as a share of what it may rise by, over time."""

    name: str
    points: tuple[tuple[int, float], ...]
    """After how many requests, and the share; 1 is all that is allowed."""


@dataclass(frozen=True, slots=True)
class GuardPanel:
    """The guards of live engines."""

    title: str
    guards: tuple[Guard, ...]
    marks: tuple[Mark, ...] = ()


AnyPanel = Panel | GuardPanel


def series(
    records: Sequence[Record],
    totals_of: Callable[[Sequence[Record]], Totals],
    sequence: ConfidenceSequence,
    budget: Budget,
) -> tuple[Point, ...]:
    """Return what the first records said, the first more, and so on: MAX_POINTS at most.

    Where the first records do not compare the arms there is no point. The last is about all.
    """
    counts = looks(len(records))
    each = [totals_of(records[:count]) for count in counts]
    known = [(count, one) for count, one in zip(counts, each, strict=True) if one.weight > 0]
    if not known:
        return ()
    totals = Totals(
        *(np.stack([getattr(one, field.name) for _, one in known]) for field in fields(Totals))
    )
    rows = zip(
        totals.gain,
        sequence.lower(totals, budget.passing),
        sequence.upper(totals, budget.failing),
        strict=True,
    )
    return tuple(
        Point(count, float(gain), float(lower), float(upper))
        for (count, _), (gain, lower, upper) in zip(known, rows, strict=True)
    )


def looks(num_records: int, *, most: int = MAX_POINTS) -> list[int]:
    """Return how many of the first records each point is about, evenly apart, up to all."""
    points = min(num_records, most)
    return [math.ceil(num_records * (index + 1) / points) for index in range(points)]


def drawing(panels: Sequence[AnyPanel], title: str = "") -> Callable[[float], Figure]:
    """Return what draws the panels, one below the other, in a width in inches."""

    def draw(width: float) -> Figure:
        from matplotlib.figure import Figure

        heights = [_HEIGHT if isinstance(panel, Panel) else _GUARD_HEIGHT for panel in panels]
        if width < WIDE_INCHES:
            heights = [height + _NARROW_EXTRA for height in heights]
        figure = Figure(figsize=(width, sum(heights) or _GUARD_HEIGHT), layout="constrained")
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        if not panels:
            figure.text(0.5, 0.5, "There is no evidence yet.", ha="center")
            return figure
        rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            if isinstance(panel, Panel):
                _draw_effect(axes, panel, width)
            else:
                _draw_guards(axes, panel, width)
        return figure

    return draw


def png(panels: Sequence[AnyPanel], title: str = "") -> bytes:
    """Return the picture as a PNG file, on white."""
    data = io.BytesIO()
    with styled():
        drawing(panels, title)(WIDE_INCHES).savefig(data, format="png", dpi=130)
    return data.getvalue()


def _draw_effect(axes: Axes, panel: Panel, width: float) -> None:
    counts = [point.num_records for point in panel.points]
    bottom, top = _limits(panel)

    def cut(bound: float) -> float:
        return 100 * min(max(bound, bottom), top)

    axes.fill_between(
        counts,
        [cut(point.lower) for point in panel.points],
        [cut(point.upper) for point in panel.points],
        color=SERIES[0],
        alpha=0.2,
        linewidth=0,
        label="bounds that always hold",
    )
    gains = [100 * point.gain for point in panel.points]
    # A line of one point would be none.
    marker = "o" if len(gains) == 1 else ""
    axes.plot(counts, gains, color=SERIES[0], marker=marker, label=f"gain in {panel.measure}")
    axes.axhline(0.0, color=MUTED, linewidth=0.8)
    required = f"{panel.at_least_name} {100 * panel.at_least:+.2g} %"
    axes.axhline(100 * panel.at_least, color=GOOD, linestyle="--", label=required)
    axes.set(ylabel="gain, %", ylim=(100 * bottom, 100 * top))
    _finish(axes, panel, panel.records, counts, width)


def _draw_guards(axes: Axes, panel: GuardPanel, width: float) -> None:
    for guard, color in zip(panel.guards, SERIES, strict=False):
        counts = [count for count, _ in guard.points]
        shares = [100 * min(max(share, -_MOST_SHARE), _MOST_SHARE) for _, share in guard.points]
        axes.plot(counts, shares, color=color, label=guard.name)
    axes.axhline(100.0, color=BAD, linestyle="--", label="allowed")
    axes.set(ylabel="rise, % of what is allowed")
    bottom, top = axes.get_ylim()
    axes.set_ylim(min(bottom, -10.0), max(1.1 * top, _LEAST_TOP))
    counts = [count for guard in panel.guards for count, _ in guard.points]
    _finish(axes, panel, "requests", counts, width)


def _finish(axes: Axes, panel: AnyPanel, records: str, counts: Sequence[int], width: float) -> None:
    last = max([1, *counts, *(mark.num_records for mark in panel.marks)])
    for row, mark in enumerate(panel.marks):
        color = BAD if mark.is_bad else INK
        is_late = mark.num_records > last / 2
        axes.axvline(mark.num_records, color=color, linestyle=":", linewidth=1.2)
        axes.annotate(
            mark.text,
            (mark.num_records, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if is_late else 4, -11 - _MARK_ROW_POINTS * row),
            textcoords="offset points",
            ha="right" if is_late else "left",
            color=color,
        )
    if not counts:
        axes.text(0.5, 0.5, "nothing to compare yet", ha="center", transform=axes.transAxes)
    axes.set(xlabel=records, xlim=(0, last))
    axes.locator_params(axis="x", integer=True)
    finish(axes, width=width, title=panel.title)


def _limits(panel: Panel) -> tuple[float, float]:
    """Return what to show of the gain: all that was known once half of the records were there."""
    later = panel.points[len(panel.points) // 2 :]
    bounds = [bound for point in later for bound in (point.lower, point.upper)]
    shown = [bound for bound in bounds if abs(bound) <= _WIDEST]
    shown += [0.0, panel.at_least, *(point.gain for point in later if math.isfinite(point.gain))]
    bottom, top = min(shown), max(shown)
    height = top - bottom or 0.01
    return bottom - _SPACE * height, top + (_SPACE + _SPACE_FOR_MARK * len(panel.marks)) * height
