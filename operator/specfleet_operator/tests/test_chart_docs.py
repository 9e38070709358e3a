"""The pages about installing and operating: commands of bash, values of the chart."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.tests.charts import CHART

DOCS = CHART.parents[1] / "docs"
TUTORIAL, INSTALL = DOCS / "tutorial-kind.md", DOCS / "install.md"
PAGES = [TUTORIAL, INSTALL, DOCS / "operations.md"]


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the code blocks of some languages."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    return [text for language, text in found if language in languages]


def manifests(page: Path) -> list[str]:
    """Return what a page's commands apply from their own text."""
    applied = r"kubectl apply --filename - <<'END'\n(.*?)^END$"
    return re.findall(applied, "".join(blocks(page, "bash", "sh")), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_one_of_bash(page: Path) -> None:
    for block in blocks(page, "bash", "sh"):
        done = subprocess.run(
            ["bash", "-n"], input=block, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


def test_every_manifest_is_taken(api_server: ControlPlane) -> None:
    here = ("--namespace", "docs")
    api_server.client.kubectl("create", "namespace", "docs")
    # No controller makes it here, and pods are refused without it.
    api_server.client.kubectl(*here, "create", "serviceaccount", "default")

    for manifest in (*manifests(TUTORIAL), *manifests(INSTALL)):
        api_server.client.kubectl(
            *(*here, "apply", "--dry-run=server", "--filename", "-"),
            stdin=manifest,
        )


def test_the_first_fleet_finds_the_s3_server_that_is_typed_before() -> None:
    typed = "".join(blocks(TUTORIAL, "bash"))
    (manifest,) = (text for text in manifests(TUTORIAL) if "versitygw" in text)
    service, fleet = list(yaml.safe_load_all(manifest))[1], CHART.parents[1] / "examples/kind.yaml"

    s3 = yaml.safe_load(fleet.read_text())["spec"]["store"]["s3"]

    host, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    assert s3["endpoint"] == f"http://{host}:{port}"
    assert f"generic {s3['credentialsSecretRef']['name']} " in typed
    assert f"/data/{s3['bucket']}]" in typed
