"""The main job with real vLLM in pods: a fleet learns from its traffic, and nobody fails.

Its manifest is the one of the local demo; a cluster adds where the model and the store are.
"""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from e2e.cluster.cluster import Cluster
from e2e.cluster.programs import ROOT
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.kubernetes import manifests
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.s3 import S3
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until
from specfleet_cli.traffic.prompts import read_documents

pytestmark = [pytest.mark.cluster, pytest.mark.long]

NAMESPACE = "real-engines"
HINDI = read_documents(ROOT / "examples" / "text" / "hi.jsonl")
LOAD = Load(clients=4, max_tokens=64, timeout_seconds=120.0)
# An engine is up after 30 to 80 s on a quiet machine, and two start at once.
START_SECONDS = 400.0
WANTED_RATIO = 1.1


@pytest.fixture(scope="module")
def real(cluster: Cluster, s3: S3, installation: Installation) -> Iterator[Fleet]:
    """Give the demo's fleet when it is ready."""
    cluster.client.apply(manifests.namespace(NAMESPACE))
    manifest = manifests.demo(NAMESPACE, {}, s3=s3)
    cluster.client.apply(manifest)
    fleet = Fleet(cluster, s3, NAMESPACE, manifest["metadata"]["name"])
    fleet.wait_until_ready(seconds=START_SECONDS)
    yield fleet
    cluster.client.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_what_was_learnt_is_accepted_more_often_than_stock(real: Fleet) -> None:
    before = accepted(real)
    # A client keeps its connection, so each cohort gets clients of its own.
    services = [
        manifests.cohort_service(real.name, NAMESPACE, cohort) for cohort in ("control", "push")
    ]
    real.client.apply(*services)

    with (
        traffic(real, service="only-control", load=LOAD, documents=HINDI) as control,
        traffic(real, service="only-push", load=LOAD, documents=HINDI) as push,
    ):
        until(
            lambda: gain(before, accepted(real)),
            lambda seen: seen >= WANTED_RATIO,
            what="push over control, in tokens per verify step",
            seconds=240,
            poll_seconds=3,
        )
        versions = until(
            real.versions, lambda found: len(found) >= 3, what="versions in S3", seconds=180
        )
        windows = [*control.windows(), *push.windows()]

    assert versions == list(range(len(versions)))
    for window in windows:
        assert_no_failures(window, minimum=40)
        assert_same_answers(window)
    assert not any(real.restarts().values())
    # The resource says the same for people.
    status = real.status()
    assert status["aggregation"]["version"] >= 2
    assert float(status["acceptanceLength"]) > 1


def test_a_training_engine_is_deleted_and_its_successor_goes_on(real: Fleet) -> None:
    (old,) = real.pods(cohort="push")
    versions = real.versions()

    with traffic(real, load=LOAD, documents=HINDI) as watch:
        watch.mark("deleted")
        real.kubectl("delete", "pod", old["metadata"]["name"], "--wait=false")
        until(
            lambda: [pod["metadata"]["uid"] for pod in real.pods(cohort="push")],
            lambda uids: uids and uids != [old["metadata"]["uid"]],
            what="a new pod",
            seconds=120,
        )
        real.wait_until_ready(seconds=START_SECONDS)
        until(
            real.versions,
            lambda found: len(found) > len(versions),
            what="a version after the change",
            seconds=180,
        )
        window = watch.window("deleted")

    assert_no_failures(window, minimum=50)
    assert_same_answers(window)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Counts of the engines of a cohort since they started."""

    steps: float
    tokens: float

    def since(self, before: Accepted) -> float:
        """Return tokens per verify step since then; 0 while there are few."""
        steps, tokens = self.steps - before.steps, self.tokens - before.tokens
        return 0.0 if steps < 200 else 1 + tokens / steps


def gain(before: Mapping[str, Accepted], now: Mapping[str, Accepted]) -> float:
    """Return how much more the push cohort's drafts yield; 0 while a cohort says nothing."""
    push, control = (now[cohort].since(before[cohort]) for cohort in ("push", "control"))
    return push / control if push and control else 0.0


def accepted(fleet: Fleet) -> dict[str, Accepted]:
    """Return what vLLM itself counts, by cohort."""
    found = {}
    for pod in fleet.pods():
        address = pod["status"]["podIP"]
        with urllib.request.urlopen(f"http://{address}:8000/metrics", timeout=30) as answer:
            metrics = answer.read().decode()
        found[pod["metadata"]["labels"]["specfleet.dev/cohort"]] = Accepted(
            steps=total(metrics, "vllm:spec_decode_num_drafts_total"),
            tokens=total(metrics, "vllm:spec_decode_num_accepted_tokens_total"),
        )
    return found


def total(metrics: str, name: str) -> float:
    """Return the sum of a metric over its labels."""
    values = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", metrics, re.MULTILINE)
    return sum(map(float, values))
