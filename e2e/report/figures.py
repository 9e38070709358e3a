"""Plots as SVG text: plain values in, one picture out. Nothing is read or written."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from e2e.report.curves import Point

COLORS = ("#8a8f98", "#1f6feb", "#d1662c", "#2f8f5b", "#8250b0", "#b08900")
"""The first is for what is compared with."""
SIZE_INCHES = (7.2, 3.2)

# Glyphs as text, so that the picture stays small; ids that do not differ from run to run.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "specfleet", "font.size": 9.0})


def over_time(
    curves: Mapping[str, Sequence[Point]],
    *,
    label: str,
    marks: Mapping[str, float] | None = None,
    ticks: Sequence[float] = (),
) -> str:
    """Draw curves over the seconds of the traffic; `marks` are named moments, `ticks` others."""
    figure, axes = _empty("seconds of traffic", label)
    for at in ticks:
        axes.axvline(at, color="#e3e5e8", linewidth=0.8, zorder=0)
    for (name, points), color in zip(curves.items(), COLORS, strict=False):
        axes.plot([p.seconds for p in points], [p.value for p in points], color=color, label=name)
    for name, at in (marks or {}).items():
        axes.axvline(at, color="#24292f", linestyle="--", linewidth=1.0)
        axes.annotate(
            name,
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10),
            textcoords="offset points",
        )
    return _finished(figure, axes, legend=len(curves) > 1)


def bars(
    groups: Sequence[str], series: Mapping[str, Sequence[float]], *, label: str, xlabel: str = ""
) -> str:
    """Draw one bar for each series in each group."""
    figure, axes = _empty(xlabel, label)
    width = 0.8 / len(series)
    for index, ((name, values), color) in enumerate(zip(series.items(), COLORS, strict=False)):
        places = [group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))]
        axes.bar(places, values, width * 0.94, color=color, label=name)
    axes.set_xticks(range(len(groups)), groups)
    axes.axhline(0.0, color="#24292f", linewidth=0.8)
    return _finished(figure, axes, legend=len(series) > 1)


def by_number(series: Mapping[str, Mapping[int, float]], *, label: str, xlabel: str) -> str:
    """Draw values over whole numbers, such as versions."""
    figure, axes = _empty(xlabel, label)
    for (name, values), color in zip(series.items(), COLORS[1:], strict=False):
        places, heights = list(values), list(values.values())
        axes.plot(places, heights, color=color, marker="o", markersize=3, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return _finished(figure, axes, legend=len(series) > 1)


def _empty(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _finished(figure: Figure, axes: Axes, *, legend: bool) -> str:
    if legend:
        axes.legend(frameon=False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    # Without the XML prologue it is an element of an HTML page.
    return text.getvalue()[text.getvalue().index("<svg") :]
