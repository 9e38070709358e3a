"""The pages for people name only what there is: files, fields, metrics, variables, commands."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings

from e2e.cluster.programs import ROOT
from specfleet_agent.settings import Settings as AgentSettings
from specfleet_aggregator.settings import Settings as AggregatorSettings
from specfleet_common.telemetry import metrics
from specfleet_operator.settings import Settings as OperatorSettings

PAGES = sorted(
    (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/*/README.md"),
    )
)
SETTINGS: tuple[type[BaseSettings], ...] = (AgentSettings, AggregatorSettings, OperatorSettings)
DEFINITION = ROOT / "crds" / "speculatorfleets.yaml"
VALUES = ROOT / "charts" / "specfleet" / "values.yaml"
FOLDERS = (
    "aggregator|charts|common|crds|docs|e2e|examples|images|operator|requirements|tools|worker"
)

pytestmark = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    lost = [link for link in links if ":" not in link and not leads_somewhere(page, link)]

    assert lost == []


def test_every_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", page.read_text("utf-8"))
    missing = [name for name in named if not (ROOT / name).exists()]

    assert missing == []


def test_every_metric_that_is_named_is_declared(page: Path) -> None:
    named = set(re.findall(r"specfleet_(?:agent|aggregator|operator)_\w+", page.read_text("utf-8")))

    assert named - declared_metrics() == set()


def test_every_variable_that_is_named_is_a_setting(page: Path) -> None:
    named = set(
        re.findall(r"SPECFLEET_(?:AGENT|AGGREGATOR|OPERATOR)_[A-Z0-9_]+", page.read_text("utf-8"))
    )

    assert named - variables() == set()


def test_every_field_that_is_named_is_one_of_a_fleet_or_of_the_chart(page: Path) -> None:
    fields, values = fleet_fields(), chart_values()
    groups = "|".join(name for name, field in fields.items() if field["type"] == "object")
    named = re.findall(rf"`(?:spec\.)?((?:{groups})\.[\w.]+)[:`]", page.read_text("utf-8"))
    known = [name for name in named if is_field(fields, name) or is_value(values, name)]

    assert named == known


def test_every_target_of_make_that_is_named_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = " ".join(re.findall(r"(?:`|^\$ )make((?: [a-z][\w-]*)+)", text, flags=re.M)).split()
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.M)

    assert set(named) - set(targets) == set()


def test_every_module_that_is_run_exists(page: Path) -> None:
    named = re.findall(r"python3? -m ((?:e2e|tools|specfleet_\w+)[\w.]*)", page.read_text("utf-8"))

    assert [name for name in named if find_spec(name.rstrip(".")) is None] == []


@cache
def fleet_fields() -> dict[str, Any]:
    """Return the schema of a fleet's spec, field by field."""
    (version,) = yaml.safe_load(DEFINITION.read_text())["spec"]["versions"]
    fields: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]
    return fields


@cache
def chart_values() -> dict[str, Any]:
    """Return the values of the chart."""
    values: dict[str, Any] = yaml.safe_load(VALUES.read_text())
    return values


def leads_somewhere(page: Path, link: str) -> bool:
    """Say whether a link of a page has a target."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text("utf-8"))


def anchors(text: str) -> set[str]:
    """Return the names by which the headings of a page are linked to."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def declared_metrics() -> set[str]:
    """Return the names of all metrics."""
    return {metric.name for metric in metrics.ALL}


def variables() -> set[str]:
    """Return the names of all variables that a process reads its settings from."""
    return {
        f"{kind.model_config['env_prefix']}{name.upper()}"
        for kind in SETTINGS
        for name in kind.model_fields
    }


def is_field(fields: dict[str, Any], path: str) -> bool:
    """Say whether a path leads to a field of a schema's properties."""
    for name in path.split("."):
        if name not in fields:
            return False
        found = fields[name]
        if "x-kubernetes-preserve-unknown-fields" in found or "additionalProperties" in found:
            return True
        fields = found.get("properties") or found.get("items", {}).get("properties", {})
    return True


def is_value(values: Any, path: str) -> bool:
    """Say whether a path leads to a value of the chart."""
    for name in path.split("."):
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True
