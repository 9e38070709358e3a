"""Expressions become what Grafana would send, answers what it would show."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.dashboards.asking import Answer, Shown, expand
from e2e.dashboards.series import Series, decode, legend
from tools.dashboards.model import Panel, Query
from tools.dashboards.pages import DASHBOARDS
from tools.go import cache
from tools.prometheus import programs

SHOWN = Shown("local", "demo", start=100.0, end=400.0, step_seconds=5.0, scrape_seconds=1.0)


@pytest.mark.parametrize(
    ("expression", "sent"),
    [
        pytest.param('a{fleet=~"$fleet"}', 'a{fleet=~"demo"}', id="choice"),
        pytest.param('a{pod=~"$pod"}', 'a{pod=~".*"}', id="all-pods"),
        pytest.param("rate(a[$__rate_interval])", "rate(a[6s])", id="rate"),
        pytest.param(
            "max_over_time(a[$__range:$__interval])", "max_over_time(a[300s:5s])", id="range"
        ),
    ],
)
def test_variables_get_values(expression: str, sent: str) -> None:
    assert expand(expression, SHOWN) == sent


def test_a_series_without_any_number_is_none() -> None:
    result: list[dict[str, Any]] = [
        {"metric": {"pod": "a"}, "values": [[1, "NaN"], [2, "0.5"]]},
        {"metric": {"pod": "b"}, "values": [[1, "NaN"]]},
        {"metric": {"pod": "c"}, "value": [1, "+Inf"]},
    ]

    assert decode(result) == (Series({"pod": "a"}, ((2.0, 0.5),)),)


def test_a_legend_names_a_series_by_its_labels() -> None:
    assert legend("{{pod}} band {{band}}", {"pod": "a-0", "band": "2"}) == "a-0 band 2"
    assert legend("{{kind}} {{result}}", {"kind": "none"}) == "none"


@pytest.mark.parametrize(
    ("query", "missed"),
    [
        pytest.param(Query("a", ""), True, id="always-there"),
        pytest.param(Query("a", "", absent="no canary has run"), False, id="may-be-absent"),
    ],
)
def test_a_query_without_series_is_missed_unless_it_says_why(query: Query, missed: bool) -> None:
    panel = Panel("A", "An a.", "short", (query,))

    assert Answer("page", panel, query, series=()).is_missed == missed


def test_what_is_asked_is_promql(tmp_path: Path) -> None:
    queries = [query for page in DASHBOARDS for panel in page.panels for query in panel.queries]
    marks = [marks for page in DASHBOARDS for marks in page.marks]
    asked = [one.expression for one in queries] + [one.expression for one in marks]
    rules = [
        {"record": f"asked:{number}", "expr": expand(expression, SHOWN)}
        for number, expression in enumerate(asked)
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))

    promtool = programs(cache(os.environ), os.environ) / "promtool"
    done = subprocess.run(
        [promtool, "check", "rules", file], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
