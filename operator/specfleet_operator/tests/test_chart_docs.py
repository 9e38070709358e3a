"""What the pages about installing and operating say can be typed, and names what there is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane, kubectl
from specfleet_operator.tests.charts import CHART

DOCS = CHART.parents[1] / "docs"
PAGES = [DOCS / name for name in ("install.md", "operations.md", "architecture.md")]


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the code blocks of some languages."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    return [text for language, text in found if language in languages]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())

    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: page.name)
def test_every_command_is_one_of_bash(page: Path) -> None:
    for block in blocks(page, "bash", "sh"):
        done = subprocess.run(
            ["bash", "-n"], input=block, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + block


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: page.name)
def test_every_value_that_is_named_is_one_of_the_chart(page: Path) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    groups = "|".join(values)
    named = set(re.findall(rf"(?:`|--set '?)((?:{groups})(?:[.][A-Za-z<>.]+)?)", page.read_text()))

    assert named
    for name in named:
        found = values
        for part in name.replace("<name>", "agent").split("."):
            assert part in found, name
            found = found[part]


def test_the_s3_server_of_the_first_fleet_is_taken(api_server: ControlPlane) -> None:
    install = "".join(blocks(PAGES[0], "bash"))
    (manifest,) = re.findall(
        r"kubectl apply --filename - <<'END'\n(.*?)^END$", install, re.M | re.S
    )

    kubectl(api_server, "apply", "--dry-run=server", "--filename", "-", stdin=manifest)

    service, fleet = list(yaml.safe_load_all(manifest))[1], CHART.parents[1] / "examples/kind.yaml"
    s3 = yaml.safe_load(fleet.read_text())["spec"]["store"]["s3"]
    host, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    assert s3["endpoint"] == f"http://{host}.default.svc.cluster.local:{port}"
    assert f"generic {s3['credentialsSecretRef']['name']} " in install
    assert f"/data/{s3['bucket']}]" in install
