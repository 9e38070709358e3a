"""Every alert has a page that helps: the same headings, commands of bash, names that exist."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from specfleet_operator.tests.chart_rules import alerts, metric_of, selectors
from specfleet_operator.tests.charts import CHART

REPOSITORY = CHART.parents[1]
RUNBOOKS = REPOSITORY / "docs" / "runbooks"
INDEX = RUNBOOKS / "index.md"
PAGES = sorted(set(RUNBOOKS.glob("*.md")) - {INDEX})
HEADINGS = ["What users notice", "How to look", "What to do"]
PARTS = "aggregation|cohorts|drafter|engine|networkPolicy|promotion|store|trainer"


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert [page.stem for page in PAGES] == sorted(alerts())


def test_the_list_has_every_page() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \|", INDEX.read_text(), flags=re.M)

    assert sorted(listed) == [(page.stem, page.stem) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_what_it_means_what_users_notice_how_to_look_and_what_to_do(page: Path) -> None:
    title, *headings = re.findall(r"^#+ (.+)$", without_code(page), flags=re.M)

    assert title == page.stem
    assert headings == HEADINGS


def test_every_command_is_one_of_bash() -> None:
    commands = "".join(code for page in (*PAGES, INDEX) for code in blocks(page, "sh"))

    done = subprocess.run(
        ["bash", "-n"], input=commands, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_every_query_is_one_of_prometheus(prometheus_programs: Path, tmp_path: Path) -> None:
    asked = [query for page in PAGES for query in queries(page)]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(asked)]
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "runbooks", "rules": rules}]})
    )

    done = subprocess.run(
        [prometheus_programs / "promtool", "check", "rules", tmp_path / "rules.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_metric_that_is_named_is_declared(page: Path) -> None:
    named = {selector.name for selector in selectors(page.read_text())}

    assert {name for name in named if metric_of(name) is None} == set()


def test_every_field_that_is_named_is_one_of_the_spec_or_a_value_of_the_chart() -> None:
    definition = yaml.safe_load((REPOSITORY / "crds" / "speculatorfleets.yaml").read_text())
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    values = json.loads((CHART / "values.schema.json").read_text())

    for page in PAGES:
        for field in re.findall(rf"`((?:{PARTS})(?:\[\])?\.[\w.]+)", page.read_text()):
            path = field.replace("[]", "").split(".")
            assert has(spec, path) or has(values, path), f"{page.name}: {field}"


def has(schema: Mapping[str, Any], path: list[str]) -> bool:
    """Say whether a schema has a field; below a map of quantities, any name is one."""
    for name in path:
        schema = schema.get("items", schema)
        below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if below is None:
            return False
        schema = below
    return True


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a language; those of lists are indented."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", page.read_text(), flags=re.M | re.S)
    return [re.sub(rf"^{indent}", "", code, flags=re.M) for indent, code in found]


def queries(page: Path) -> list[str]:
    """Return the queries of a page: each begins at the left margin of its block."""
    return [
        query for code in blocks(page, "promql") for query in re.split(r"\n(?=\S)", code.strip())
    ]


def without_code(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S)
