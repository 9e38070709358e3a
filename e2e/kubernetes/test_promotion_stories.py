"""Candidates that must not become stable, or must not stay it, in one fleet, one after the other.

Each story leaves stock as stable, but for the one whose version the next withdraws. What users of
the fleet ask is answered in all of them, and always in the same way.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from e2e.cluster.cluster import Cluster
from e2e.cluster.programs import ROOT
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.kubernetes import manifests
from e2e.kubernetes.courses import CREDENTIALS, bucket, counted, course, lineage, records
from e2e.kubernetes.fleet import Fleet, is_ready
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.judging import HINDI, LOAD, Judging, Object, assert_nobody_noticed, outcome
from e2e.kubernetes.pages import pages, share, until_all_run
from e2e.kubernetes.s3 import S3
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until
from e2e.promoting.simulated import BETTER
from e2e.sabotage import publish_damaged
from e2e.simulator.running import set_behaviour
from specfleet_common.api.promotion import Outcome, Phase
from specfleet_common.lineage import STOCK

pytestmark = pytest.mark.cluster

BOTH = {"engines": 2}
"""Settings of a canary that is decided in half the time."""
NEVER = 1_000_000
FEW = 3
SLOW_SECONDS = 0.05
VERY_SLOW_SECONDS = 0.3
"""So slow that a minute of quick requests before does not hide it."""
LONG_SECONDS = 600
"""Longer than a story takes."""
DAMAGE = 3.0
WORSE = {"stock": [0.9, 0.8, 0.7], "default": [0.3, 0.1, 0.05]}
# Through the Service, each of two engines gets connections of so many clients all but surely.
SERVED = Load(clients=10, max_tokens=48, distinct_prompts=400)


@pytest.fixture(scope="module")
def judging(cluster: Cluster, s3: S3, installation: Installation) -> Iterator[Judging]:
    """Give a fleet that learns."""
    name = f"judging-{secrets.token_hex(2)}"
    cluster.client.apply(manifests.namespace(name))
    found = Judging(Fleet(cluster, s3, name, "fleet"))
    found.configure(mode="Paused")
    yield found
    cluster.client.kubectl("delete", "namespace", name, "--wait=false")


def test_damaged_weights_are_rejected_in_replay_and_reach_no_engine(judging: Judging) -> None:
    fleet, store = judging.fleet, bucket(judging.fleet)
    judging.configure(learns=False, mode="Paused")
    until(fleet.versions, what="version 0 in the store", seconds=60)
    damaged = publish_damaged(store, lineage(store), seed=1, amount=DAMAGE, now=time.time())
    judging.restart_aggregator()

    with judging.traffic(), judging.story(learns=False):
        before = pages(fleet)
        candidate = judging.candidate()
        ended = judging.ended(candidate)
        touched = share(before, pages(fleet), damaged.drafter.digest)
    found = course(store, damaged.number)

    print(f"{found}; used for {touched:.1%} of the tokens")
    assert candidate["spec"]["digest"] == damaged.drafter.digest
    assert outcome(ended) == Outcome.REJECTED, ended["status"]
    assert found.promotion.last_phase == Phase.REPLAY
    assert touched == 0


def test_a_version_that_slows_its_canary_is_rejected(judging: Judging) -> None:
    fleet = judging.fleet
    with judging.traffic(), judging.story():
        before = pages(fleet)
        candidate = judging.candidate()
        digest = candidate["spec"]["digest"]
        judging.behave(drafter_seconds={digest: SLOW_SECONDS})
        ended = judging.ended(candidate)
        found = course(bucket(fleet), candidate["spec"]["version"])
        until_all_run(fleet, found.promotion.stable.digest)
        touched = share(before, pages(fleet), digest)

    print(f"{found}; used for {touched:.1%} of the tokens")
    assert outcome(ended) == Outcome.REJECTED, ended["status"]
    assert 0 < touched < 0.5


@pytest.mark.long
def test_a_version_that_turns_slow_while_it_rolls_out_is_taken_back(judging: Judging) -> None:
    fleet = judging.fleet
    with judging.traffic(), judging.story(rollout={"pauseSeconds": LONG_SECONDS}):
        candidate = judging.candidate()
        digest = candidate["spec"]["digest"]
        judging.until(candidate, Phase.ROLLING)
        judging.behave(drafter_seconds={digest: VERY_SLOW_SECONDS})
        ended = judging.ended(candidate)
        found = course(bucket(fleet), candidate["spec"]["version"])
        until_all_run(fleet, found.promotion.stable.digest)
        ran = pages(fleet).values()

    print(found)
    assert all(digest in page.tokens for page in ran), "the other engine had changed to it"
    assert outcome(ended) == Outcome.REJECTED, ended["status"]
    assert found.promotion.last_phase == Phase.ROLLING


@pytest.mark.long
def test_what_an_engine_does_that_holds_other_weights_never_counts(judging: Judging) -> None:
    fleet, store = judging.fleet, bucket(judging.fleet)
    with judging.traffic(), judging.story(canary={**BOTH, "maxSeconds": 30}):
        candidate = judging.candidate()
        judging.behave(mismatch=True)
        judging.until(candidate, Phase.CANARY)
        told = fleet.wait_for("Ready", "False", "DigestMismatch")
        before = pages(fleet)
        ended = judging.ended(candidate)
        after = pages(fleet)
    promotion = course(store, candidate["spec"]["version"]).promotion
    canary = counted(store, promotion)

    assert all(pod["metadata"]["name"] in told["message"] for pod in fleet.pods()), told
    assert all(after[engine].swaps - before[engine].swaps >= 4 for engine in before)
    assert records(store, promotion).requests
    assert (canary.blocks, canary.requests) == ((), ())
    assert outcome(ended) == Outcome.INCONCLUSIVE, ended["status"]
    assert "No decision within 30 s" in ended["status"]["message"]


@pytest.mark.long
def test_engines_that_contradict_each_other_decide_nothing(judging: Judging) -> None:
    lenient = {"tpot": "90%", "ttft": "90%"}
    with judging.traffic(), judging.story(canary=BOTH, guards=lenient):
        candidate = judging.candidate()
        # On both together, about as good as stock.
        for url, rates in zip(judging.engines(), ([0.7, 0.4, 0.2], [0.3, 0.1, 0.0]), strict=True):
            set_behaviour(url, {"acceptance": {**BETTER, "default": rates}})
        ended = judging.ended(candidate)

    print(course(bucket(judging.fleet), candidate["spec"]["version"]))
    assert outcome(ended) == Outcome.INCONCLUSIVE, ended["status"]
    assert ended["status"]["message"].startswith("Contradictory: "), ended["status"]


@pytest.mark.long
def test_an_engine_is_replaced_in_mid_canary(judging: Judging) -> None:
    fleet, store = judging.fleet, bucket(judging.fleet)
    with traffic(fleet, load=SERVED, documents=HINDI) as watch, judging.story(canary=BOTH):
        candidate = judging.candidate()
        number, digest = candidate["spec"]["version"], candidate["spec"]["digest"]
        old = fleet.pods()[0]["metadata"]

        def compared() -> set[str]:
            blocks = counted(store, course(store, number).promotion).blocks
            return {block.engine for block in blocks}

        until(compared, lambda engines: old["uid"] in engines, what="its first block", seconds=300)
        fleet.kubectl("delete", "pod", old["name"], "--wait=false")
        (new,) = until(
            lambda: [pod for pod in fleet.pods() if pod["metadata"]["name"] == old["name"]],
            lambda pods: pods and pods[0]["metadata"]["uid"] != old["uid"] and is_ready(pods[0]),
            what="another engine",
            seconds=120,
        )
        # The clients of the Service keep their connections to the engine that stayed.
        with running_traffic(f"http://{new['status']['podIP']}:8000", LOAD, HINDI) as its_own:
            ended = judging.ended(candidate)
            until_all_run(fleet, digest)
            assert_nobody_noticed(watch, its_own)

    print(course(store, number))
    assert outcome(ended) == Outcome.PROMOTED, ended["status"]
    assert fleet.status()["drafter"]["stable"].startswith(f"{number}-")


@pytest.mark.long
def test_a_stable_version_that_turns_out_worse_is_withdrawn(judging: Judging) -> None:
    fleet = judging.fleet
    with judging.traffic():
        if fleet.status()["drafter"]["stable"] == STOCK:
            with judging.story(canary=BOTH):
                judging.ended(judging.candidate())
        stable = judging.first(lambda one: outcome(one) == Outcome.PROMOTED, "a stable version")
        found = course(bucket(fleet), stable["spec"]["version"])
        with judging.story(minimumRounds=NEVER):
            judging.behave(acceptance=WORSE)
            withdrawn = judging.first(is_withdrawn(stable), "its end")
            until_all_run(fleet, found.promotion.stable.digest)

    print(course(bucket(fleet), stable["spec"]["version"]))
    assert "stable over stock" in withdrawn["status"]["message"]
    assert fleet.status()["drafter"]["stable"] == STOCK


def test_verdicts_are_remembered_whatever_is_pruned(judging: Judging, tmp_path: Path) -> None:
    while len(judging.promotions()) < FEW:
        with judging.traffic(), judging.story():
            judging.candidate()
    before = {name: verdict(one) for name, one in judging.promotions().items()}

    judging.configure(mode="Paused", historyLimit=1)
    (kept,) = until(judging.promotions, lambda found: len(found) == 1, what="one", seconds=60)
    pruned = [name for name, (_, _, evidence) in before.items() if name != kept and evidence]
    again = [rejudged(judging.fleet, name, tmp_path) for name in pruned]
    judging.configure(mode="Paused")
    until(judging.promotions, lambda found: len(found) == len(before), what="all", seconds=60)

    assert [done.returncode for done in again] == [0] * len(pruned), again
    assert {name: verdict(one) for name, one in judging.promotions().items()} == before


@pytest.mark.long
def test_a_newer_version_takes_the_place_of_one_without_evidence(fleet: Fleet) -> None:
    judging = Judging(fleet)
    judging.configure(holdout_percent=0)
    with judging.traffic():
        candidate = judging.candidate()
        told = fleet.wait_for("Judgeable", "False", "NothingHeldOut")
        ended = judging.ended(candidate)
        second = judging.candidate()

    print(course(bucket(fleet), candidate["spec"]["version"]))
    assert "holdoutPercent" in told["message"]
    assert outcome(ended) == Outcome.SUPERSEDED, ended["status"]
    assert second["spec"]["version"] > candidate["spec"]["version"]


def is_withdrawn(promotion: Object) -> Callable[[Object], bool]:
    """Return what says whether a promotion's version is no longer stable."""
    name = promotion["metadata"]["name"]
    return lambda one: one["metadata"]["name"] == name and outcome(one) == Outcome.ROLLED_BACK


def verdict(promotion: Object) -> tuple[str, str, str]:
    """Return how a promotion ended, why, and what that rests on."""
    status = promotion["status"]
    return status["outcome"], status["message"], status.get("evidenceDigest", "")


def rejudged(fleet: Fleet, promotion: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Judge a promotion again, as a user does who has nothing but the manifest and the bucket."""
    here = {"store": {"s3": {"endpoint": fleet.s3.url()}}}
    manifest = folder / "fleet.yaml"
    applied = manifests.fleet(fleet.name, fleet.namespace, here, cluster=fleet.cluster, s3=fleet.s3)
    manifest.write_text(yaml.safe_dump(applied))
    command = [sys.executable, "-m", "specfleet_cli", "rejudge"]
    return subprocess.run(
        [*command, promotion.removeprefix(f"{fleet.name}-"), "--store", str(manifest)],
        cwd=ROOT,
        env={**os.environ, **CREDENTIALS},
        capture_output=True,
        text=True,
        check=False,
    )
