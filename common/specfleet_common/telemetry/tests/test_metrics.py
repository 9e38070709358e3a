"""The list of metrics follows its own rules."""

from __future__ import annotations

import re

import pytest

from specfleet_common.telemetry.metric import Metric
from specfleet_common.telemetry.metrics import ALL, BY_PROCESS

BASE_UNITS = ("seconds", "bytes", "ratio")
FROM_THE_SCRAPE = {"namespace", "fleet", "cohort", "pod", "job", "instance", "container"}


def test_names_are_unique() -> None:
    assert len({metric.name for metric in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("process", "metric"),
    [(process, one) for process, metrics in BY_PROCESS.items() for one in metrics],
    ids=lambda value: value.name if isinstance(value, Metric) else "",
)
def test_names_say_component_and_kind(process: str, metric: Metric) -> None:
    assert re.fullmatch(rf"specfleet_{process}_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
    assert bool(metric.buckets) == (metric.kind == "histogram")


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_names_end_with_their_base_unit(metric: Metric) -> None:
    last = metric.name.removesuffix("_total").rpartition("_")[2]

    in_name, declared = ({word} & set(BASE_UNITS) for word in (last, metric.unit))
    assert in_name == declared


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_labels_are_not_those_of_the_target(metric: Metric) -> None:
    is_of_a_fleet = metric.labels[:2] == ("namespace", "fleet")

    own = metric.labels[2:] if is_of_a_fleet else metric.labels
    assert FROM_THE_SCRAPE.isdisjoint(own)
    assert not is_of_a_fleet or metric.name.startswith("specfleet_operator_")
