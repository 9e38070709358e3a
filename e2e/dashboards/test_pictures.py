"""Dashboards are drawn from what was recorded of them, in Grafana's units and places."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from e2e.dashboards.asking import Answer, Shown
from e2e.dashboards.drawing import COLUMNS, draw, layout
from e2e.dashboards.recording import from_json, record, to_json
from e2e.dashboards.results import table
from e2e.dashboards.series import Series
from e2e.dashboards.units import written
from tools.dashboards.model import Kind
from tools.dashboards.pages import DASHBOARDS
from tools.dashboards.promotion import PROMOTION

SHOWN = Shown("local", "demo", start=1e9, end=1e9 + 60, step_seconds=5.0, scrape_seconds=1.0)


def answers(*, empty: bool = False) -> list[Answer]:
    """Return answers to every query of every panel."""
    points = ((1e9, 0.0), (1e9 + 30, 1.0), (1e9 + 60, 1.0))
    series = () if empty else (Series({"pod": "main-0"}, points),)
    return [
        Answer(page.name, panel, query, series)
        for page in DASHBOARDS
        for panel in page.panels
        for query in panel.queries
    ]


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        pytest.param(0.1234, "percentunit", 1, "12.3 %", id="share"),
        pytest.param(0.0042, "s", None, "4.2 ms", id="milliseconds"),
        pytest.param(90.0, "s", None, "1.5 min", id="minutes"),
        pytest.param(0.0, "s", None, "0 s", id="no-time"),
        pytest.param(3 * 2**20, "bytes", None, "3 MiB", id="bytes"),
        pytest.param(2048.0, "Bps", None, "2 KiB/s", id="bytes-per-second"),
        pytest.param(2.345, "suffix: tok/step", 2, "2.35 tok/step", id="own-unit"),
        pytest.param(7.0, "none", 0, "7", id="number"),
        pytest.param(1500.0, "short", None, "1.5 K", id="short"),
        pytest.param(1e12, "dateTimeFromNow", None, "2 min ago", id="moment"),
    ],
)
def test_a_value_is_written_in_its_unit(
    value: float, unit: str, decimals: int | None, text: str
) -> None:
    assert written(value, unit, decimals=decimals, now=1e9 + 120) == text


def test_every_panel_has_a_unit_that_can_be_written() -> None:
    for page in DASHBOARDS:
        for panel in page.panels:
            assert written(1.0, panel.unit)


def test_a_recording_is_read_as_it_was_written() -> None:
    recording = record(answers(), SHOWN)

    assert from_json(to_json(recording)) == recording


@pytest.mark.parametrize("empty", [pytest.param(True, id="empty"), pytest.param(False, id="full")])
def test_a_picture_has_all_rows_and_panels(empty: bool) -> None:
    # One with panels of every kind; all of them would take seconds.
    kinds = {panel.kind for panel in PROMOTION.panels}

    text = draw(PROMOTION, record(answers(empty=empty), SHOWN))

    words = {"".join(one.itertext()).strip() for one in ElementTree.fromstring(text).iter()}
    assert kinds == set(Kind)
    assert {row.title for row in PROMOTION.rows} <= words
    assert {panel.title for panel in PROMOTION.panels} <= words


def test_panels_lie_side_by_side_inside_the_grid() -> None:
    for page in DASHBOARDS:
        _, places, height = layout(page)

        for place in places:
            assert place.x + place.panel.width <= COLUMNS
            assert place.y + place.panel.height <= height


def test_the_table_says_why_a_query_may_return_nothing() -> None:
    text = table(answers(empty=True))

    assert "none: no canary has run yet" in text
    assert all(f"### {page.name}" in text for page in DASHBOARDS)
