"""Draws one panel into its axes: numbers, curves, or bars of states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from e2e.dashboards.recording import Line
from e2e.dashboards.units import written
from tools.dashboards.model import Panel

INK, PALE, GREY = "#24292f", "#f4f5f5", "#8a8f98"
COLORS = (
    *("#1f6feb", "#d1662c", "#2f8f5b", "#8250b0", "#b08900", "#c4432b", "#3aa0a8", "#8a8f98"),
    *("#6ea0f0", "#e69a6f", "#7cc29a", "#b38fd6"),
)
_NAMED = {
    "red": "#c4432b",
    "green": "#2f8f5b",
    "orange": "#d1662c",
    "blue": "#1f6feb",
    "text": INK,
    "transparent": "#ffffff",
}
_LEGEND_ENTRIES = 6


def draw_number(axes: Axes, panel: Panel, lines: Sequence[Line], *, now: float) -> None:
    """Write the newest values, large, side by side."""
    axes.set_axis_off()
    if not lines:
        text = panel.no_value or "no data"
        axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=10, color=GREY)
    for index, line in enumerate(lines):
        value = line.points[-1][1]
        text = written(value, panel.unit, decimals=panel.decimals, now=now)
        at = (index + 0.5) / len(lines)
        size = 17 if len(lines) <= 3 else 12
        color = _color(panel, value)
        axes.text(at, 0.45, text, ha="center", va="center", fontsize=size, color=color)
        if len(lines) > 1:
            axes.text(at, 0.92, line.name, ha="center", va="center", fontsize=7, color=GREY)


def draw_curves(axes: Axes, panel: Panel, lines: Sequence[Line], *, seconds: float) -> None:
    """Draw one curve for each series."""
    for line, color in zip(lines, _colors(), strict=False):
        xs, ys = [at for at, _ in line.points], [value for _, value in line.points]
        axes.plot(xs, ys, color=color, linewidth=1.3, label=line.name)
    _time_axis(axes, seconds)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=panel.decimals == 0))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: written(value, panel.unit, decimals=None))
    )
    if panel.minimum is not None:
        axes.set_ylim(bottom=panel.minimum)
    if panel.maximum is not None:
        axes.set_ylim(top=panel.maximum)
    axes.grid(axis="y", color="#e9ebed", linewidth=0.7)
    if not lines:
        _say_nothing(axes, panel)
        return
    handles, names = axes.get_legend_handles_labels()
    if not names:
        return
    axes.legend(
        handles[:_LEGEND_ENTRIES],
        names[:_LEGEND_ENTRIES],
        loc="upper center",
        bbox_to_anchor=(0.45, -0.13),
        ncols=2 if max(map(len, names)) > 14 else 3,
        fontsize=6,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.0,
        labelspacing=0.2,
    )


def draw_states(axes: Axes, panel: Panel, lines: Sequence[Line], *, seconds: float) -> None:
    """Draw one bar for each series, coloured by what its value means."""
    colors = {state.value: _NAMED[state.color] for state in panel.states}
    for row, line in enumerate(lines):
        for start, end, value in _stretches(line):
            color = colors.get(round(value), GREY)
            axes.barh(row, end - start, left=start, height=0.75, color=color, linewidth=0)
    axes.set_yticks(range(len(lines)), [line.name for line in lines])
    axes.invert_yaxis()
    _time_axis(axes, seconds)
    if not lines:
        _say_nothing(axes, panel)


def _stretches(line: Line) -> Iterator[tuple[float, float, float]]:
    """Yield from when to when a series kept which value."""
    begun = [next(same) for _, same in groupby(line.points, lambda point: point[1])]
    ends = [*(at for at, _ in begun[1:]), line.points[-1][0]]
    for (start, value), end in zip(begun, ends, strict=True):
        yield start, end, value


def _time_axis(axes: Axes, seconds: float) -> None:
    axes.set_xlim(0, seconds)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 3, 6, 10]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda at, _: f"{int(at) // 60}:{int(at) % 60:02d}")
    )
    axes.tick_params(labelsize=7, colors="#57606a", length=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#d8dadd")


def _say_nothing(axes: Axes, panel: Panel) -> None:
    reasons = "; ".join(query.absent for query in panel.queries if query.absent)
    text = reasons or panel.no_value or "no data"
    axes.set_yticks([])
    axes.text(
        *(0.5, 0.5, text),
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=8,
        color=GREY,
        wrap=True,
    )


def _color(panel: Panel, value: float) -> str:
    reached = [step.color for step in panel.steps if step.value is None or value >= step.value]
    return _NAMED[reached[-1]] if reached else INK


def _colors() -> Iterator[str]:
    while True:
        yield from COLORS
