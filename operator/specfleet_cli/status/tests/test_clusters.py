"""The command in a cluster: a real API server with our definitions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from specfleet_cli.completing import NO_FILES, completions
from specfleet_cli.status.tests.test_objects import STATUS
from specfleet_cli.tests.clusters import Cluster, defined, new_namespace
from specfleet_cli.tests.fake_fleet import MODULES
from specfleet_common.api.testing import fleet_object
from specfleet_common.lineage import Lineage

LINEAGE = Lineage("t", "mtp", "l", "float32", "s").id
DIGEST = "14" * 32
PROMOTION = STATUS["promotion"]["name"]


@pytest.fixture(scope="module")
def plane(api_server: ControlPlane) -> ControlPlane:
    return defined(api_server)


@pytest.fixture
def cluster(plane: ControlPlane) -> Cluster:
    cluster = new_namespace(plane)
    cluster.apply(fleet_object(spec__replicas=2))
    since = "2027-01-15T08:00:00Z"
    conditions = [{"lastTransitionTime": since, **one} for one in STATUS["conditions"]]
    cluster.say("speculatorfleet", "tiny", {**STATUS, "conditions": conditions})
    return cluster


def test_kubectl_completes_the_names_of_fleets(cluster: Cluster, tmp_path: Path) -> None:
    here = {"KUBECONFIG": str(cluster.kubeconfig(tmp_path))}
    modules = {"PYTHONPATH": os.pathsep.join(map(str, MODULES))}

    assert completions(["status", "t"], {**os.environ, **modules, **here}) == ["tiny", NO_FILES]


def test_a_fleet_is_shown_with_its_newest_promotion(cluster: Cluster) -> None:
    spec = {"fleet": "tiny", "lineage": LINEAGE, "version": 20, "digest": DIGEST}
    kind = {"apiVersion": "specfleet.dev/v1alpha1", "kind": "DrafterPromotion"}
    cluster.apply({**kind, "metadata": {"name": PROMOTION}, "spec": spec})
    done = {"phase": "Done", "outcome": "Rejected", "message": "Lost in replay."}
    cluster.say("drafterpromotion", PROMOTION, done)

    shown = cluster.call("status", "tiny")
    told = json.loads(cluster.call("status", "tiny", "-o", "json").stdout)

    assert shown.exit_code == 0, shown.stderr
    assert f"{PROMOTION}: Rejected. Lost in replay." in shown.stdout
    assert told["cohorts"][0]["adapted"] == 1
    assert told["learning"]["losses"] == [1.5, 2.0]
    assert told["promotion"]["digest"] == DIGEST


def test_all_fleets_of_a_namespace_are_a_line_each(cluster: Cluster) -> None:
    cluster.apply(fleet_object(metadata={"name": "other"}))

    shown = cluster.call("status")

    assert [line.split()[:3] for line in shown.stdout.splitlines()[1:]] == [
        ["other", "Unknown", "NotReconciled"],
        ["tiny", "False", "StoreUnreachable"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("status", "x"), "x: is no fleet in namespace", id="unknown"),
        pytest.param(("status", "--context", "x"), "kubeconfig: ", id="context"),
    ],
)
def test_a_mistake_ends_the_command_with_a_sentence(
    cluster: Cluster, arguments: tuple[str, ...], words: str
) -> None:
    ended = cluster.call(*arguments)

    assert ended.exit_code == 2
    assert words in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
