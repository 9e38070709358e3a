"""Plots of reports: plain values in, a picture for screens and one for phones out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from e2e.report.curves import Point
from specfleet_cli.drawing import GRID, INK, MUTED, NEUTRAL, SERIES, Plot, finish, plot

HEIGHT_INCHES = 3.1
_MARK_ROW_POINTS = 12.0


def over_time(
    curves: Mapping[str, Sequence[Point]],
    *,
    label: str,
    marks: Mapping[str, float] | None = None,
    ticks: Sequence[float] = (),
    reference: str = "",
) -> Plot:
    """Draw curves over the seconds of the traffic; `marks` are named moments, `ticks` others.

    `reference` is the one that others are compared with.
    """

    def draw(width: float) -> Figure:
        figure, axes = _empty(width, "seconds of traffic", label)
        for at in ticks:
            axes.axvline(at, color=GRID, linewidth=0.6, zorder=0)
        for (name, points), color in zip(curves.items(), _colors(curves, reference), strict=False):
            seconds = [point.seconds for point in points]
            axes.plot(seconds, [point.value for point in points], color=color, label=name)
        axes.margins(x=0.01)
        for row, (name, at) in enumerate((marks or {}).items()):
            _mark(axes, name, at, row)
        finish(axes, width=width)
        return figure

    return plot(draw)


def bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    label: str,
    xlabel: str = "",
    reference: str = "",
) -> Plot:
    """Draw one bar for each series in each group."""
    share = 0.8 / len(series)

    def draw(width: float) -> Figure:
        figure, axes = _empty(width, xlabel, label)
        colors = _colors(series, reference)
        for index, ((name, values), color) in enumerate(zip(series.items(), colors, strict=False)):
            shift = (index - (len(series) - 1) / 2) * share
            places = [group + shift for group in range(len(groups))]
            axes.bar(places, values, share * 0.92, color=color, label=name)
        axes.set_xticks(range(len(groups)), groups)
        axes.axhline(0.0, color=MUTED, linewidth=0.8)
        finish(axes, width=width)
        return figure

    return plot(draw)


def by_number(series: Mapping[str, Mapping[int, float]], *, label: str, xlabel: str) -> Plot:
    """Draw values over whole numbers, such as versions."""

    def draw(width: float) -> Figure:
        figure, axes = _empty(width, xlabel, label)
        for (name, values), color in zip(series.items(), SERIES, strict=False):
            places, heights = list(values), list(values.values())
            axes.plot(places, heights, color=color, marker="o", markersize=3.5, label=name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        finish(axes, width=width)
        return figure

    return plot(draw)


def _colors(names: Iterable[str], reference: str) -> list[str]:
    others = iter(SERIES)
    return [NEUTRAL if name == reference else next(others, MUTED) for name in names]


def _empty(width: float, xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, HEIGHT_INCHES), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    return figure, axes


def _mark(axes: Axes, name: str, at: float, row: int) -> None:
    """Name a moment beside its line, on the side where there is more room."""
    first, last = axes.get_xlim()
    is_late = at > (first + last) / 2
    axes.axvline(at, color=INK, linestyle=(0, (3, 2)), linewidth=1.0)
    axes.annotate(
        name,
        (at, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if is_late else 4, -10 - _MARK_ROW_POINTS * row),
        textcoords="offset points",
        ha="right" if is_late else "left",
    )
