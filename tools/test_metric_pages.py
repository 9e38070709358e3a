"""What every process shows is what is declared, and what Prometheus' own linter accepts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Set
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from specfleet_common.telemetry.metric import Metric
from specfleet_common.telemetry.metrics import BY_PROCESS
from tools.documentation.metric_pages import num_fleet_series, num_series, pages
from tools.go import cache
from tools.prometheus import programs

ENGINES = 8
SUFFIXES = ("_bucket", "_count", "_sum")


@pytest.fixture(scope="module")
def promtool() -> Path:
    return programs(cache(os.environ), os.environ) / "promtool"


def shown(page: bytes) -> Iterator[tuple[str, str, Set[str]]]:
    """Yield name, type and label names of every sample but those about the process."""
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            if not family.name.startswith("process_"):
                yield sample.name, family.type, sample.labels.keys()


def declared(metric: Metric) -> set[tuple[str, str, frozenset[str]]]:
    """Return what a metric should look like on a page."""
    labels = frozenset(metric.labels)
    if metric.kind != "histogram":
        return {(metric.name, metric.kind, labels)}
    return {
        (f"{metric.name}{suffix}", metric.kind, labels | ({"le"} if suffix == "_bucket" else set()))
        for suffix in SUFFIXES
    }


@pytest.mark.parametrize("process", BY_PROCESS)
def test_a_page_shows_exactly_what_is_declared(process: str) -> None:
    page = pages(engines=ENGINES)[process]

    found = {(name, kind, frozenset(labels)) for name, kind, labels in shown(page)}

    expected = {one for metric in BY_PROCESS[process] for one in declared(metric)}
    assert found == expected, "declare, show or delete the difference"


@pytest.mark.parametrize("process", BY_PROCESS)
def test_promtool_finds_nothing_wrong(process: str, promtool: Path) -> None:
    page = pages(engines=ENGINES)[process]

    checked = subprocess.run(
        [promtool, "check", "metrics"], input=page, capture_output=True, check=False
    )

    assert (checked.stderr.decode(), checked.stdout.decode(), checked.returncode) == ("", "", 0)


def test_a_fleet_of_8_engines_adds_about_a_thousand_series_to_those_of_vllm() -> None:
    series = {name: num_series(page) for name, page in pages(engines=ENGINES).items()}

    assert ENGINES * series["agent"] + series["aggregator"] + num_fleet_series() < 1200


def test_workers_add_a_bounded_number_of_series_to_the_aggregators_page() -> None:
    few, many = (num_series(pages(engines=number)["aggregator"]) for number in (8, 80))

    assert many - few == 4 * (80 - 8)
