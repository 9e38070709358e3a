"""The list of metrics follows its own rules."""

from __future__ import annotations

import re

import pytest

from specfleet_common.telemetry.metrics import ALL, Metric


def test_names_are_unique() -> None:
    assert len({metric.name for metric in ALL}) == len(ALL)


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_names_say_component_and_kind(metric: Metric) -> None:
    assert re.fullmatch(r"specfleet_(aggregator|agent|operator)_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
