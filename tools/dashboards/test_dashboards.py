"""Dashboards ask for metrics that exist, say how to read them, and are in the chart as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
import yaml

from e2e.simulator.metrics import Metrics
from specfleet_common.telemetry import agent, aggregator, operator
from specfleet_common.telemetry.metric import process_registry
from tools.dashboards.model import Dashboard, Kind, Panel
from tools.dashboards.pages import DASHBOARDS, FOLDER, files

TARGET_LABELS = {"namespace", "fleet", "cohort", "pod", "container", "instance"}
"""What whoever scrapes a process knows of it."""
COLUMNS = 24

EACH_DASHBOARD = pytest.mark.parametrize("page", DASHBOARDS, ids=lambda page: page.name)
EACH_PANEL = pytest.mark.parametrize(
    ("page", "panel"),
    [
        pytest.param(page, panel, id=f"{page.name}: {panel.title}")
        for page in DASHBOARDS
        for panel in page.panels
    ],
)


def labels_by_series() -> dict[str, set[str]]:
    """Return the labels of everything that a fleet can be asked for."""
    known: dict[str, set[str]] = {}
    for metric in (*agent.ALL, *aggregator.ALL, *operator.ALL):
        suffixes = ("_bucket", "_count", "_sum") if metric.kind == "histogram" else ("",)
        for suffix in suffixes:
            known[metric.name + suffix] = set(metric.labels) | TARGET_LABELS
        if metric.kind == "histogram":
            known[metric.name + "_bucket"].add("le")
    for recorded in recording_rules():
        level = recorded.partition(":")[0].split("_")
        known[recorded] = {"namespace", *level}
    vllm = Metrics("model", num_speculative_tokens=3).registry
    for registry in (vllm, process_registry()):
        for family in registry.collect():
            for sample in family.samples:
                known.setdefault(sample.name, set(TARGET_LABELS)).update(sample.labels)
    return known


def recording_rules() -> Iterator[str]:
    """Yield the names of what the chart's rules record: their labels, what it is, and how."""
    for path in (FOLDER.parent / "rules").glob("*.yaml"):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            yield from (rule["record"] for rule in group["rules"] if "record" in rule)


KNOWN = labels_by_series()


def selections(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the series that an expression names, and the labels by which it chooses among them."""
    for name, chosen in re.findall(
        r"((?:specfleet_|process_|vllm:|fleet_\w+:)[\w:]+)(?:\{([^}]*)\})?", expression
    ):
        yield name, set(re.findall(r"(\w+)(?:=~|!=|=)", chosen))


def grouping(expression: str) -> set[str]:
    """Return the labels that an expression sums by."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", expression))))


def expressions(page: Dashboard) -> Iterator[str]:
    """Yield everything that a dashboard asks for."""
    yield from (query.expression for panel in page.panels for query in panel.queries)
    yield from (marks.expression for marks in page.marks)
    yield from (variable.among for variable in page.variables)


def test_the_files_are_what_the_code_says() -> None:
    kept = {path: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}

    assert kept == files(), "run `make generate` and commit the result"


@EACH_DASHBOARD
def test_only_declared_metrics_are_asked_for_by_labels_that_they_have(page: Dashboard) -> None:
    for expression in expressions(page):
        found = list(selections(expression))

        assert found, f"{expression}: names no metric"
        for name, labels in found:
            assert name in KNOWN, f"{expression}: nothing declares {name}"
            assert labels <= KNOWN[name], f"{expression}: {name} has only {sorted(KNOWN[name])}"
        have = set().union(*(KNOWN[name] for name, _ in found))
        assert grouping(expression) <= have, f"{expression}: groups by a label that nothing has"


@EACH_PANEL
def test_a_legend_uses_labels_that_the_query_keeps(page: Dashboard, panel: Panel) -> None:
    for query in panel.queries:
        used = set(re.findall(r"\{\{(\w+)\}\}", query.legend))
        kept = grouping(query.expression)
        if "(" not in query.expression:
            ((name, _),) = selections(query.expression)
            kept = KNOWN[name]

        assert used <= kept, query.expression


@EACH_DASHBOARD
def test_only_variables_that_a_viewer_can_choose_are_used(page: Dashboard) -> None:
    chosen = {variable.label for variable in page.variables}

    used = {name for text in expressions(page) for name in re.findall(r"\$([a-z]\w*)", text)}

    assert used == chosen


@EACH_PANEL
def test_a_panel_says_what_it_shows_and_in_which_unit(page: Dashboard, panel: Panel) -> None:
    assert panel.description.endswith("."), panel.description
    assert len(panel.description) > len(panel.title)
    assert panel.unit
    assert panel.queries
    assert panel.kind is not Kind.STATES or panel.states


@EACH_DASHBOARD
def test_panels_fill_their_rows_and_have_names_of_their_own(page: Dashboard) -> None:
    for row in page.rows:
        for height in {panel.height for panel in row.panels}:
            widths = [panel.width for panel in row.panels if panel.height == height]

            assert sum(widths) % COLUMNS == 0, f"{row.title}: {widths}"
    titles = [panel.title for panel in page.panels]
    assert len(set(titles)) == len(titles)


@EACH_DASHBOARD
def test_grafana_gets_panels_side_by_side_with_ids_of_their_own(page: Dashboard) -> None:
    panels = json.loads(files()[FOLDER / f"{page.name}.json"])["panels"]

    places = [panel["gridPos"] for panel in panels]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for before, after in pairwise(places):
        if before["y"] == after["y"]:
            assert after["x"] == before["x"] + before["w"]
        else:
            assert after["x"] == 0
            assert after["y"] == before["y"] + before["h"]


def test_dashboards_have_addresses_and_titles_of_their_own() -> None:
    assert len({page.name for page in DASHBOARDS}) == len(DASHBOARDS)
    assert len({page.title for page in DASHBOARDS}) == len(DASHBOARDS)
