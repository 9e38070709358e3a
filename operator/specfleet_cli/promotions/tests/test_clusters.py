"""The commands in a cluster: a real API server with our definitions, and a real S3 server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from e2e.cluster.control_plane import ControlPlane
from specfleet_cli.app import app
from specfleet_cli.options import IN_CLUSTER
from specfleet_cli.promotions.tests.lineages import (
    LINEAGE,
    FakeLineage,
    promoted,
    promotion_opened,
    rejected,
    waiting,
)
from specfleet_cli.promotions.tests.pages import commands
from specfleet_cli.tests.clusters import Cluster, defined, new_namespace
from specfleet_cli.tests.fake_fleet import MODULES
from specfleet_common.api.testing import fleet_object
from specfleet_common.store.entries import PromotionOpened
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import BUCKET, ENVIRONMENT, Server, s3_server


def show(cluster: Cluster, opened: PromotionOpened, **status: Any) -> str:
    """Make the object of a promotion as the operator does, and return its name."""
    name = f"tiny-{opened.promotion}"
    spec = {
        "fleet": "tiny",
        "lineage": LINEAGE,
        "version": opened.number,
        "digest": opened.digest,
    }
    kind = {"apiVersion": "specfleet.dev/v1alpha1", "kind": "DrafterPromotion"}
    cluster.apply({**kind, "metadata": {"name": name}, "spec": spec})
    cluster.say("drafterpromotion", name, status)
    return name


@pytest.fixture(scope="module")
def plane(api_server: ControlPlane) -> ControlPlane:
    return defined(api_server)


@pytest.fixture
def cluster(plane: ControlPlane) -> Cluster:
    return new_namespace(plane)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s3"},
    "stringData": ENVIRONMENT,
}


def fleet(mode: str, *, endpoint: str = "http://s3:9000") -> dict[str, Any]:
    s3 = {"endpoint": endpoint, "bucket": BUCKET, "credentialsSecretRef": {"name": "s3"}}
    return fleet_object(spec__store={"s3": s3}, spec__promotion={"mode": mode})


def test_promotions_are_shown_approved_and_aborted(cluster: Cluster) -> None:
    cluster.apply(fleet("Manual"))
    effect = {
        "name": "candidate over stable",
        "measure": "tokens per verify step",
        "gainPercent": "3.10",
        "lowerPercent": "1.20",
        "records": 80,
        "clusters": 60,
    }
    name = show(
        cluster,
        promotion_opened(12),
        phase="Canary",
        waitsForApproval=True,
        effects=[effect],
        startedAt="2027-01-15T08:00:00Z",
        message="Passed its canary.",
    )

    shown = cluster.call("promotions")
    approved = cluster.call("approve", name)
    after_approval = cluster.get("drafterpromotion", name)["spec"]["decision"]
    aborted = cluster.call("abort", name)
    refused = cluster.call("approve", name)
    details = cluster.call("promotions", name, "-o", "json")

    assert shown.exit_code == 0, shown.stderr
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith(name)]
    assert "Canary, waits for approval" in line
    assert "+3.10 % (+1.20 % to -)" in line
    assert line.endswith("Passed its canary.")
    assert approved.exit_code == 0, approved.stderr
    assert f"kubectl specfleet promotions {name} --namespace {cluster.namespace}" in approved.stdout
    assert after_approval == "Approve"
    assert aborted.exit_code == 0, aborted.stderr
    assert cluster.get("drafterpromotion", name)["spec"]["decision"] == "Abort"
    assert (refused.exit_code, "was aborted, which is final" in refused.stderr) == (2, True)
    assert json.loads(details.stdout)["decision"] == "Abort"


def test_evidence_is_read_from_the_bucket_of_the_fleet(
    cluster: Cluster, s3: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    cluster.apply(fleet("Automatic"), SECRET)
    store = open_store(s3.location(f"{cluster.namespace}/tiny"), ENVIRONMENT)
    opened = rejected(FakeLineage(store, fleet="tiny"), 20)
    name = show(cluster, opened, phase="Done", outcome="Rejected")
    here = ("--s3-endpoint", s3.endpoint)

    rejudged = cluster.call("rejudge", name, *here)
    drawn = cluster.call("promotions", name, "--plot", str(tmp_path / "a.html"), *here)

    assert rejudged.exit_code == 0, rejudged.stderr
    assert rejudged.stdout.startswith("Replay: 100 records, the same")
    assert drawn.exit_code == 0, drawn.stderr
    page = (tmp_path / "a.html").read_text()
    assert f"promotion  {name}\n" in page
    assert "fleet      tiny\n" in page


def test_the_commands_of_the_page_work(
    cluster: Cluster, s3: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.apply(fleet("Manual", endpoint=s3.endpoint), SECRET)
    lineage = FakeLineage(open_store(s3.location(f"{cluster.namespace}/tiny"), ENVIRONMENT))
    show(cluster, promoted(lineage, 12), phase="Done", outcome="Promoted")
    waits = show(cluster, waiting(lineage, 30), phase="Canary", waitsForApproval=True)
    here = ("--kubeconfig", str(cluster.kubeconfig(tmp_path)))
    monkeypatch.chdir(tmp_path)

    ended = [
        (arguments, CliRunner().invoke(app, [*arguments, *here], obj=IN_CLUSTER))
        for arguments in commands("kubectl specfleet")
    ]

    assert len(ended) >= 6
    assert [(arguments, one.stderr) for arguments, one in ended if one.exit_code] == []
    assert cluster.get("drafterpromotion", waits)["spec"]["decision"] == "Abort"
    assert (tmp_path / "evidence.svg").exists()


def test_kubectl_finds_the_plugin(cluster: Cluster, tmp_path: Path) -> None:
    name = show(cluster, promotion_opened(12), phase="Pending")
    plugin = tmp_path / "kubectl-specfleet"
    plugin.write_text(
        f"#!{sys.executable}\nfrom specfleet_cli.__main__ import kubectl\nkubectl()\n"
    )
    plugin.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, MODULES)),
        "KUBECONFIG": str(cluster.kubeconfig(tmp_path)),
    }

    ended = subprocess.run(
        [cluster.plane.binaries / "kubectl", "specfleet", "promotions"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert name in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("promotions", "x"), "x: is no promotion here", id="unknown"),
        pytest.param(("rejudge", "x"), "name it with --store and the fleet's", id="pruned"),
        pytest.param(("promotions", "--context", "x"), "kubeconfig: ", id="context"),
        pytest.param(("rejudge", "x", "--s3-endpoint", "y"), "--s3-endpoint: is 'y'", id="bucket"),
    ],
)
def test_a_mistake_ends_a_command_with_a_sentence(
    cluster: Cluster, arguments: tuple[str, ...], words: str
) -> None:
    ended = cluster.call(*arguments)

    assert ended.exit_code == 2
    assert words in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_api_server_that_is_away_is_said(cluster: Cluster, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    here = cluster.plane.kubeconfig.read_text()
    kubeconfig.write_text(here.replace(cluster.plane.url, "https://127.0.0.1:1"))

    ended = CliRunner().invoke(app, ["promotions", "--kubeconfig", str(kubeconfig)])

    assert ended.exit_code == 2
    assert "drafterpromotions in namespace default: the API server cannot be" in ended.stderr
