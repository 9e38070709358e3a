"""The chart's rules: right as promtool sees it, and about metrics that there are."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from specfleet_operator.tests.chart_rules import (
    FILES,
    SCENARIOS,
    TARGET_LABELS,
    alerts,
    expressions,
    grouped_by,
    groups,
    metric_of,
    recorded,
    records,
    selectors,
)
from specfleet_operator.tests.charts import NO_CRDS, Helm, HelmRefused, only

API = "monitoring.coreos.com/v1/PrometheusRule"


def test_promtool_finds_nothing_wrong(prometheus_programs: Path) -> None:
    promtool(prometheus_programs, "check", "rules", "--lint=all", "--lint-fatal", *FILES)


def test_rules_do_in_their_scenarios_what_is_expected(prometheus_programs: Path) -> None:
    promtool(prometheus_programs, "test", "rules", *SCENARIOS)


def test_every_alert_has_a_scenario_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fires: dict[str, set[bool]] = {}
    for path in SCENARIOS:
        for scenario in yaml.safe_load(path.read_text())["tests"]:
            for case in scenario.get("alert_rule_test", ()):
                fires.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))

    assert fires == {name: {True, False} for name in alerts()}


def test_every_recorded_series_has_a_scenario_or_an_alert_that_needs_it() -> None:
    scenarios = "\n".join(path.read_text() for path in SCENARIOS)
    used = recorded("\n".join(rule["expr"] for rule in alerts().values()))

    assert set(records()) == recorded(scenarios) | used


@pytest.mark.parametrize("expression", expressions())
def test_a_rule_asks_for_metrics_and_labels_that_are_declared(expression: str) -> None:
    labels = set(TARGET_LABELS)
    for selector in selectors(expression):
        metric = metric_of(selector.name)
        assert metric is not None, f"{selector.name} is declared in no module of telemetry"
        labels |= set(metric.labels)
        assert selector.labels <= {*metric.labels, *TARGET_LABELS}, selector
    for name in recorded(expression):
        assert name in records()
        labels |= grouped_by(records()[name])

    assert grouped_by(expression) <= labels


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_series_of_scenarios_look_like_those_of_the_processes(path: Path) -> None:
    for scenario in yaml.safe_load(path.read_text())["tests"]:
        for series in scenario["input_series"]:
            (selector,) = selectors(series["series"])
            metric = metric_of(selector.name)
            assert metric is not None, f"{selector.name} is declared in no module of telemetry"
            assert set(metric.labels) <= selector.labels, series
            assert selector.labels <= {*metric.labels, *TARGET_LABELS}, series


def test_the_rules_are_one_object_with_an_address_of_a_runbook_for_every_alert(helm: Helm) -> None:
    url = "https://docs.example.com/runbooks/ALERT.html"
    enabled = {"enabled": True, "labels": {"release": "prometheus"}, "runbookUrl": url}
    values = {**NO_CRDS, "metrics": {"rules": enabled}}

    objects = helm.objects(values, flags=["--api-versions", API])

    rule = only(objects, "PrometheusRule")
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    wanted = groups()
    for group in wanted:
        for one in group["rules"]:
            if "alert" in one:
                one["annotations"]["runbook_url"] = url.replace("ALERT", one["alert"])
    assert sorted(rule["spec"]["groups"], key=name_of) == sorted(wanted, key=name_of)


def test_without_an_address_alerts_name_no_runbook(helm: Helm) -> None:
    values = {**NO_CRDS, "metrics": {"rules": {"enabled": True}}}

    objects = helm.objects(values, flags=["--api-versions", API])

    rule = only(objects, "PrometheusRule")
    assert sorted(rule["spec"]["groups"], key=name_of) == sorted(groups(), key=name_of)


def test_rules_without_their_api_are_refused(helm: Helm) -> None:
    with pytest.raises(HelmRefused) as refused:
        helm.text({"metrics": {"rules": {"enabled": True}}})

    words = "metrics.rules.enabled is true, but this cluster has no kind PrometheusRule"
    assert words in str(refused.value)


def test_an_address_that_is_the_same_for_all_alerts_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmRefused, match=re.escape("at '/metrics/rules/runbookUrl'")):
        helm.text({"metrics": {"rules": {"runbookUrl": "https://docs.example.com/runbooks"}}})


def promtool(programs: Path, *arguments: str | Path) -> None:
    """Run promtool; what it says is the message when it finds something."""
    done = subprocess.run(
        [programs / "promtool", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def name_of(group: Mapping[str, Any]) -> str:
    """Return the name of a group."""
    return str(group["name"])
