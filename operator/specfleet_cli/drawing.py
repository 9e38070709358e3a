"""How pictures look: colours for light and dark, sizes for screens and phones, SVG that is small.

Everything that draws goes through `plot` or `styled`. matplotlib is imported only then.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_INCHES, NARROW_INCHES = 7.8, 3.9
"""Of pictures for a screen and for a phone; writing has the same size in both."""

SERIES = ("#1f6feb", "#c4561d", "#1a7f53", "#8250df", "#9a6700", "#bf3989")
INK, MUTED, GRID, NEUTRAL = "#1f2328", "#59636e", "#d5dae0", "#7d8590"
"""Writing, axes, lines that only guide the eye, and what is compared with."""
GOOD, BAD = "#1a7f37", "#cf222e"
PAPER = "#ffffff"

DARK = {
    "#1f6feb": "#58a6ff",
    "#c4561d": "#f0883e",
    "#1a7f53": "#3fb983",
    "#8250df": "#bc8cff",
    "#9a6700": "#d9a72e",
    "#bf3989": "#f778ba",
    INK: "#e6edf3",
    MUTED: "#9198a1",
    GRID: "#30363d",
    NEUTRAL: "#848d97",
    GOOD: "#3fb950",
    BAD: "#ff7b72",
    PAPER: "#151b23",
}
"""What each colour is on a dark page."""

_LEGEND_ROW_POINTS = 14.0
_MAX_DIGITS = 2
_MARGIN = 9
"""Of a picture that no page surrounds, in points."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture as SVG elements of an HTML page, which shows the one that fits."""

    wide: str
    narrow: str


def plot(draw: Callable[[float], Figure]) -> Plot:
    """Return what `draw` makes of both widths."""
    return Plot(*(svg(draw, width) for width in (WIDE_INCHES, NARROW_INCHES)))


def svg(draw: Callable[[float], Figure], width: float = WIDE_INCHES) -> str:
    """Return a picture as an element of an HTML page; the same picture is the same text."""
    text = io.StringIO()
    with styled():
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw(width).savefig(text, format="svg", transparent=True, metadata=metadata)
    return _small(text.getvalue())


def standalone(picture: str) -> str:
    """Return the picture as a file of its own, on paper that is dark where its reader wants it."""
    head, rest = picture.split(">", 1)
    dark = f"@media (prefers-color-scheme: dark) {{ {dark_rules()} }}"
    box = re.search(r'viewBox="0 0 (\S+) (\S+)"', head)
    assert box is not None
    width, height = (float(length) + 2 * _MARGIN for length in box.groups())
    place = f'x="-{_MARGIN}" y="-{_MARGIN}" width="{width:g}" height="{height:g}"'
    head = head.replace(box[0], f'viewBox="-{_MARGIN} -{_MARGIN} {width:g} {height:g}"')
    return f'{head}><style>{dark}</style><rect {place} style="fill: {PAPER}"/>{rest}\n'


def dark_rules() -> str:
    """Return the CSS that turns a picture's colours into those for a dark page."""
    return " ".join(
        f'[style*="{what}: {light}"] {{ {what}: {dark} !important }}'
        for light, dark in DARK.items()
        for what in ("stroke", "fill")
    )


@contextmanager
def styled() -> Iterator[None]:
    """Have matplotlib draw in our style for the time of a `with` block."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            # Writing as text, so that pictures stay small and can be searched.
            "svg.fonttype": "none",
            "svg.hashsalt": "specfleet",
            "font.size": 9.0,
            "font.sans-serif": ["DejaVu Sans"],
            "text.color": INK,
            "axes.labelcolor": MUTED,
            "axes.edgecolor": GRID,
            "axes.titlecolor": INK,
            "axes.titlesize": 10.0,
            "axes.titleweight": "bold",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.spines.left": False,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "grid.color": GRID,
            "grid.linewidth": 0.6,
            "xtick.color": GRID,
            "ytick.color": GRID,
            "xtick.labelcolor": MUTED,
            "ytick.labelcolor": MUTED,
            "ytick.major.size": 0.0,
            "lines.linewidth": 1.8,
            "lines.solid_capstyle": "round",
            "legend.frameon": False,
            "legend.fontsize": 9.0,
        }
    ):
        yield


def finish(axes: Axes, *, width: float, title: str = "") -> None:
    """Put a title and, when there is more than one name, a legend above a picture's axes."""
    rows = 0
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        columns = _legend_columns(names, width)
        rows = math.ceil(len(names) / columns)
        axes.legend(
            handles,
            names,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            handlelength=1.4,
            columnspacing=1.4,
            borderaxespad=0.3,
            borderpad=0.0,
            labelspacing=0.3,
        )
    if title:
        axes.set_title(title, loc="left", pad=6.0 + _LEGEND_ROW_POINTS * rows)


def _legend_columns(names: Sequence[str], width: float) -> int:
    """Return in how many columns names fit side by side; those of a column are below each other."""

    def needed(columns: int) -> float:
        rows = math.ceil(len(names) / columns)
        each = [names[at : at + rows] for at in range(0, len(names), rows)]
        # In inches, of a character and of the line before a name.
        return sum(0.45 + 0.075 * max(map(len, column)) for column in each)

    room = width - 0.7
    return max((many for many in range(1, len(names) + 1) if needed(many) <= room), default=1)


def _small(text: str) -> str:
    """Return the element without what nobody needs, its ids unlike those of other pictures."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(?<= )(d|x|y|transform|points|viewBox)="[^"]*"', _rounded, text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    prefix = f"p{hashlib.sha256(text.encode()).hexdigest()[:6]}-"

    def renamed(found: re.Match[str]) -> str:
        return f' id="{prefix}{found[1]}"' if found[1] in used else ""

    text = re.sub(r' id="([^"]*)"', renamed, text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", text)
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(
        r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), _MAX_DIGITS):g}", attribute[0]
    )
