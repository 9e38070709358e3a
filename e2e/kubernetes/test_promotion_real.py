"""A promotion from beginning to end with real vLLM in pods: what was learnt becomes stable."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster_traffic.driving import Load
from e2e.kubernetes import manifests
from e2e.kubernetes.courses import bucket, course
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.judging import Judging, outcome
from e2e.kubernetes.pages import pages, share, until_all_run
from e2e.kubernetes.s3 import S3
from e2e.kubernetes.waiting import until
from e2e.promoting.fleet import NO_NEW_VERSIONS, judging
from specfleet_common.api.promotion import Outcome

pytestmark = [pytest.mark.cluster, pytest.mark.long]

LOAD = Load(clients=3, max_tokens=48, distinct_prompts=400, timeout_seconds=180.0)
# An engine is up after 30 to 80 s on a quiet machine, and two start at once.
START_SECONDS = 400.0
LEARNT_VERSIONS = 4
LEARNING_SECONDS = 900.0
PATIENCE_SECONDS = 1500.0


@pytest.fixture
def place(cluster: Cluster, installation: Installation) -> Iterator[str]:
    """Give a namespace."""
    name = f"real-promotion-{secrets.token_hex(2)}"
    cluster.client.apply(manifests.namespace(name))
    yield name
    cluster.client.kubectl("delete", "namespace", name, "--wait=false")


def test_what_real_engines_have_learnt_becomes_stable(cluster: Cluster, s3: S3, place: str) -> None:
    learning = manifests.demo(place, specification(learns=True), s3=s3)
    fleet = Fleet(cluster, s3, place, learning["metadata"]["name"])
    story = Judging(fleet, patience_seconds=PATIENCE_SECONDS)
    cluster.client.apply(learning)
    fleet.wait_until_ready(seconds=START_SECONDS)

    with story.traffic(load=LOAD):
        until(
            fleet.versions,
            lambda found: len(found) > LEARNT_VERSIONS,
            what="versions to judge",
            seconds=LEARNING_SECONDS,
        )
        cluster.client.apply(manifests.demo(place, specification(learns=False), s3=s3))
        candidate = story.candidate()
        before = pages(fleet)
        ended = story.ended(candidate)
        until_all_run(fleet, candidate["spec"]["digest"])
        touched = share(before, pages(fleet), candidate["spec"]["digest"])
    found = course(bucket(fleet), candidate["spec"]["version"])

    print(f"{found}; used for {touched:.1%} of the tokens meanwhile")
    print(ended["status"]["message"])
    assert outcome(ended) == Outcome.PROMOTED, ended["status"]
    assert not any(fleet.restarts().values())


def specification(*, learns: bool) -> dict[str, Any]:
    """Return how the demo's fleet first learns, and then judges what it has learnt."""
    spec = judging(2)
    # Some times as long as an answer takes on two cores.
    spec["promotion"]["canary"] |= {"engines": 2, "blockSeconds": 10, "maxSeconds": 900}
    spec["promotion"]["mode"] = "Paused" if learns else "Automatic"
    spec["trainer"] = {"capture": {"holdoutPercent": 40}, "publishEverySteps": 0}
    if not learns:
        spec["aggregation"] = {"localSteps": NO_NEW_VERSIONS}
    return spec
