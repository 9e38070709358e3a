"""What the tutorial in kind and the page about operating say can be typed is typed, in order.

Their blocks marked `bash` run as they are, in a folder that looks like the checkout. What differs
is what a test cluster has under other names: `substitutions`, `place`, and the blocks that make
images and a cluster, which the fixture `cluster` has done (`MADE_ALREADY`).
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from e2e.cluster.cluster import MODELS, Cluster
from e2e.cluster.programs import ROOT
from e2e.kubernetes import manifests
from e2e.kubernetes.installation import NAMESPACE, RELEASE, Installation

pytestmark = [pytest.mark.cluster, pytest.mark.long]

TUTORIAL, OPERATIONS = ROOT / "docs" / "tutorial-kind.md", ROOT / "docs" / "operations.md"
MADE_ALREADY = ("docker build", "kind create cluster")
PRODUCT = ("operator", "aggregator", "agent")
VALUES = "images.yaml"
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Shell:
    """A reader at the keyboard, in a folder and in a namespace."""

    folder: Path
    environment: Mapping[str, str]
    substitutions: Mapping[str, str]

    def type(self, block: str) -> str:
        """Run a block of a page and return what it prints; AssertionError when it fails."""
        for written, here in self.substitutions.items():
            block = block.replace(written, here)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path) -> Iterator[Shell]:
    """Give a shell before anything is installed; the session's release is put back afterwards."""
    client, namespace = cluster.client, f"docs-{secrets.token_hex(2)}"
    remove_release(cluster)
    client.apply(manifests.namespace(namespace))
    place(tmp_path, cluster)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(client.kubectl("config", "view", "--minify", "--flatten", "--raw"))
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "PATH": f"{client.binaries}:{os.environ['PATH']}",
    }
    typist = Shell(tmp_path, environment, substitutions(cluster))
    typist.type(f"kubectl config set-context --current --namespace={namespace}")
    yield typist
    client.kubectl("delete", "namespace", namespace, "--wait=false")
    remove_release(cluster)
    Installation(cluster).upgrade()


def test_the_pages_can_be_typed(shell: Shell) -> None:
    *first, delete = blocks(TUTORIAL)

    printed = [shell.type(block) for block in first]
    assert "AsSpecified" in printed[-1]
    for block in blocks(OPERATIONS):
        shell.type(block)
    shell.type("kubectl wait --for=condition=Ready speculatorfleet/tiny --timeout=300s")
    shell.type(delete)

    assert shell.type("kubectl get speculatorfleets --output name") == ""


def substitutions(cluster: Cluster) -> dict[str, str]:
    """Return what is called differently here."""
    return {
        "specfleet-engine-cpu:0.1.0.dev0": cluster.image("engine-cpu"),
        "versity/versitygw:v1.8.0": cluster.image("s3"),
        "charts/specfleet ": f"charts/specfleet --values {VALUES} ",
    }


def place(folder: Path, cluster: Cluster) -> None:
    """Make a folder look like the checkout, with the model where the node has it."""
    (folder / "charts").symlink_to(ROOT / "charts")
    examples = folder / "examples"
    examples.mkdir()
    (examples / "text").symlink_to(ROOT / "examples" / "text")
    manifest = (ROOT / "examples" / "kind.yaml").read_text()
    assert "path: /models\n" in manifest
    (examples / "kind.yaml").write_text(manifest.replace("path: /models\n", f"path: {MODELS}\n"))
    (folder / VALUES).write_text(yaml.safe_dump({"images": images(cluster)}))


def images(cluster: Cluster) -> dict[str, object]:
    """Return the chart's values for the product's images of a cluster."""
    named = {name: cluster.image(name).rpartition("/") for name in PRODUCT}
    found: dict[str, object] = {"registry": named["operator"][0]}
    for name, (_, _, reference) in named.items():
        repository, _, tag = reference.rpartition(":")
        found[name] = {"repository": repository, "tag": tag}
    return found


def blocks(page: Path) -> list[str]:
    """Return what a reader of the page types, without what makes a cluster."""
    found = re.findall(r"^```bash\n(.*?)^```$", page.read_text("utf-8"), flags=re.M | re.S)
    typed = [block for block in found if not any(made in block for made in MADE_ALREADY)]
    assert typed, page
    return typed


def remove_release(cluster: Cluster) -> None:
    """Uninstall the chart if it is there."""
    cluster.client.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found")
