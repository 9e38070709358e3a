"""How a promotion's effect and its bounds came about, phase by phase, as a picture.

`series` is pure: records in the order in which they were stored, points out. Drawing needs
matplotlib, which is imported only then. Knows nothing of stores and of ledgers.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.totals import Totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 200

Record = TypeVar("Record")

_WIDTH, _HEIGHT, _GUARD_HEIGHT = 8.0, 3.0, 2.2
_COLORS = ("#1f6feb", "#d1662c", "#8250b0", "#b08900")
_INK, _REQUIRED, _BREACHED = "#24292f", "#2f8f5b", "#c0392b"
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


def svg(panels: Sequence[AnyPanel], title: str = "") -> str:
    """Return the picture as an element of an HTML page; the same panels give the same text."""
    text = _saved(panels, title, "svg").decode()
    # Without the XML prologue.
    return text[text.index("<svg") :]


def png(panels: Sequence[AnyPanel], title: str = "") -> bytes:
    """Return the picture as a PNG file."""
    return _saved(panels, title, "png")


def _saved(panels: Sequence[AnyPanel], title: str, kind: Literal["svg", "png"]) -> bytes:
    import matplotlib as mpl

    data = io.BytesIO()
    # Glyphs as text, so that the picture stays small; ids that do not differ from run to run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "specfleet", "font.size": 9.0}):
        metadata = {"Date": None} if kind == "svg" else {}
        _drawn(panels, title).savefig(data, format=kind, dpi=130, metadata=metadata)
    return data.getvalue()


def _drawn(panels: Sequence[AnyPanel], title: str) -> Figure:
    from matplotlib.figure import Figure

    heights = [_HEIGHT if isinstance(panel, Panel) else _GUARD_HEIGHT for panel in panels]
    size = (_WIDTH, sum(heights) or _GUARD_HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    if not panels:
        figure.text(0.5, 0.5, "There is no evidence yet.", ha="center", color=_INK)
        return figure
    rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        if isinstance(panel, Panel):
            _draw_effect(axes, panel)
        else:
            _draw_guards(axes, panel)
    return figure


def _draw_effect(axes: Axes, panel: Panel) -> None:
    counts = [point.num_records for point in panel.points]
    bottom, top = _limits(panel)

    def cut(bound: float) -> float:
        return 100 * min(max(bound, bottom), top)

    axes.fill_between(
        counts,
        [cut(point.lower) for point in panel.points],
        [cut(point.upper) for point in panel.points],
        color=_COLORS[0],
        alpha=0.2,
        linewidth=0,
        label="bounds that hold at every look",
    )
    gains = [100 * point.gain for point in panel.points]
    axes.plot(counts, gains, color=_COLORS[0], label="gain")
    axes.axhline(0.0, color=_INK, linewidth=0.8)
    required = f"{panel.at_least_name} {100 * panel.at_least:+.2g} %"
    axes.axhline(100 * panel.at_least, color=_REQUIRED, linestyle="--", label=required)
    axes.set(ylabel=f"gain in {panel.measure}, %", ylim=(100 * bottom, 100 * top))
    _finish(axes, panel.title, panel.records, counts, panel.marks)


def _draw_guards(axes: Axes, panel: GuardPanel) -> None:
    for guard, color in zip(panel.guards, _COLORS, strict=False):
        counts = [count for count, _ in guard.points]
        shares = [100 * min(max(share, -_MOST_SHARE), _MOST_SHARE) for _, share in guard.points]
        axes.plot(counts, shares, color=color, label=guard.name)
    axes.axhline(100.0, color=_BREACHED, linestyle="--", label="allowed")
    axes.set(ylabel="rise, % of what is allowed")
    axes.margins(y=0.1)
    counts = [count for guard in panel.guards for count, _ in guard.points]
    _finish(axes, panel.title, "requests", counts, panel.marks)


def _finish(
    axes: Axes, title: str, records: str, counts: Sequence[int], marks: Sequence[Mark]
) -> None:
    for row, mark in enumerate(marks):
        color = _BREACHED if mark.is_bad else _INK
        axes.axvline(mark.num_records, color=color, linestyle=":", linewidth=1.2)
        axes.annotate(
            mark.text,
            (mark.num_records, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-3, -11 - 11 * row),
            textcoords="offset points",
            ha="right",
            color=color,
        )
    axes.set(xlabel=records, xlim=(0, max([1, *counts, *(one.num_records for one in marks)])))
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=5,
        frameon=False,
        fontsize="small",
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def _limits(panel: Panel) -> tuple[float, float]:
    """Return what to show of the gain: all that was known once half of the records were there."""
    later = panel.points[len(panel.points) // 2 :]
    shown = [bound for point in later for bound in (point.gain, point.lower, point.upper)]
    shown = [bound for bound in (*shown, 0.0, panel.at_least) if abs(bound) <= _WIDEST]
    bottom, top = min(shown), max(shown)
    space = 0.15 * (top - bottom) or 0.01
    return bottom - space, top + space
