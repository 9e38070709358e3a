"""Draws a dashboard as Grafana lays it out: the same panels, queries and units, as one picture."""

from __future__ import annotations

import io
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from e2e.dashboards.panels import INK, PALE, draw_curves, draw_number, draw_states
from e2e.dashboards.recording import Recording
from tools.dashboards.model import Dashboard, Kind, Panel

COLUMNS = 24
COLUMN_INCHES, UNIT_INCHES = 0.62, 0.34
ROW_TITLE_UNITS = 1.3
GAP_INCHES = 0.05
TITLE_INCHES = 0.32
LEFT_INCHES, RIGHT_INCHES = 0.85, 0.15
BOTTOM_INCHES = {Kind.CURVES: 0.62, Kind.STATES: 0.32, Kind.NUMBER: 0.1}

# Glyphs as text in two fonts, curves without points that nobody can see, so that the picture
# stays small; ids that do not differ from run to run.
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "specfleet",
        "font.sans-serif": ["DejaVu Sans", "Arial"],
        "path.simplify_threshold": 0.5,
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a panel is, in the columns and units of the grid, from the top left."""

    panel: Panel
    x: int
    y: float


def draw(page: Dashboard, recording: Recording) -> str:
    """Return the picture as SVG."""
    titles, places, height = layout(page)
    canvas = _Canvas(height)
    for title, y in titles:
        canvas.title(title, y)
    for place in places:
        canvas.panel(page.name, place, recording)
    return canvas.svg()


def layout(page: Dashboard) -> tuple[list[tuple[str, float]], list[Place], float]:
    """Return the rows' titles, the panels' places, and the height of everything."""
    titles: list[tuple[str, float]] = []
    places: list[Place] = []
    y = 0.0
    for row in page.rows:
        titles.append((row.title, y))
        y += ROW_TITLE_UNITS
        x = 0
        for panel in row.panels:
            places.append(Place(panel, x, y))
            x += panel.width
            if x >= COLUMNS:
                x, y = 0, y + panel.height
    return titles, places, y


class _Canvas:
    """A figure in which everything is placed in inches from the top left."""

    def __init__(self, height_units: float) -> None:
        self._width = COLUMNS * COLUMN_INCHES
        self._height = height_units * UNIT_INCHES + 2 * GAP_INCHES
        self._figure = Figure(figsize=(self._width, self._height), facecolor=PALE)

    def title(self, text: str, y: float) -> None:
        """Write the title of a row."""
        self._text(3 * GAP_INCHES, y * UNIT_INCHES + 0.34, text, size=12, weight="bold")

    def panel(self, page: str, place: Place, recording: Recording) -> None:
        """Draw a panel on a card of its own."""
        panel = place.panel
        x, y = place.x * COLUMN_INCHES + GAP_INCHES, place.y * UNIT_INCHES + GAP_INCHES
        width = panel.width * COLUMN_INCHES - 2 * GAP_INCHES
        height = panel.height * UNIT_INCHES - 2 * GAP_INCHES
        card = Rectangle(
            (x / self._width, 1 - (y + height) / self._height),
            width / self._width,
            height / self._height,
            facecolor="white",
            edgecolor="#d8dadd",
            linewidth=0.8,
            transform=self._figure.transFigure,
            zorder=-1,
        )
        self._figure.add_artist(card)
        self._text(x + 0.1, y + 0.22, panel.title, size=9, weight="bold")
        left, right = (0.1, 0.1) if panel.kind is Kind.NUMBER else (LEFT_INCHES, RIGHT_INCHES)
        bottom = BOTTOM_INCHES[panel.kind]
        axes = self._figure.add_axes(
            (
                (x + left) / self._width,
                1 - (y + height - bottom) / self._height,
                (width - left - right) / self._width,
                (height - TITLE_INCHES - bottom) / self._height,
            )
        )
        lines = recording.lines(page, panel.title)
        match panel.kind:
            case Kind.NUMBER:
                draw_number(axes, panel, lines, now=recording.start + recording.seconds)
            case Kind.STATES:
                draw_states(axes, panel, lines, seconds=recording.seconds)
            case Kind.CURVES:
                draw_curves(axes, panel, lines, seconds=recording.seconds)

    def svg(self) -> str:
        """Return the picture."""
        text = io.StringIO()
        self._figure.savefig(text, format="svg", metadata={"Date": None}, facecolor=PALE)
        return text.getvalue()

    def _text(self, x: float, y: float, text: str, *, size: float, weight: str) -> None:
        place = (x / self._width, 1 - y / self._height)
        self._figure.text(*place, text, fontsize=size, fontweight=weight, color=INK)
