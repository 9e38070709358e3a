"""Candidates are judged in pods, and DrafterPromotions tell of it and take a user's decision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from e2e.cluster.programs import ROOT
from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.watching import Watch
from e2e.kubernetes.fleet import AGENT, AGGREGATOR, Fleet
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.waiting import until
from e2e.promoting.fleet import judging
from e2e.promoting.simulated import BETTER
from e2e.simulator.running import set_behaviour
from specfleet_cli.traffic.prompts import read_documents

pytestmark = pytest.mark.cluster

HINDI = read_documents(ROOT / "examples" / "text" / "hi.jsonl")
LOAD = Load(clients=3, max_tokens=48, distinct_prompts=400)
JUDGED_SECONDS = 300.0

Object = Mapping[str, Any]


@contextmanager
def judged(fleet: Fleet, *, engines: int = 2, **promotion: Any) -> Iterator[list[Watch]]:
    """Have a fleet learn and judge under traffic, with drafters that are better than stock.

    Each engine has clients of its own: through the Service, one may get none of the connections.
    """
    spec = judging(engines)
    spec["promotion"]["canary"]["blockSeconds"] = 2
    spec["promotion"] |= promotion
    acceptance = {"name": "SIMULATOR_ACCEPTANCE", "value": json.dumps(BETTER)}
    spec["engine"] = {"env": [acceptance]}
    spec["trainer"] = {
        "capture": {"followRequests": 16, "holdoutPercent": 60},
        "publishEverySteps": 0,
    }
    spec["aggregation"] = {"localSteps": 20}
    fleet.apply(spec)
    fleet.wait_until_ready()
    with ExitStack() as stack:
        addresses = [f"http://{pod['status']['podIP']}:8000" for pod in fleet.pods()]
        yield [stack.enter_context(running_traffic(address, LOAD, HINDI)) for address in addresses]


def assert_nobody_noticed(watches: Sequence[Watch]) -> None:
    """Fail when a request failed, or when an answer was another one than before."""
    for watch in watches:
        for window in watch.windows():
            assert_no_failures(window, minimum=50)
            assert_same_answers(window)


def promotions(fleet: Fleet) -> dict[str, Object]:
    """Return the fleet's promotions by name."""
    found = fleet.client.get("-n", fleet.namespace, "dpromo")["items"]
    return {one["metadata"]["name"]: one for one in found}


def first(
    fleet: Fleet, fits: Callable[[Object], bool], what: str, *, seconds: float = JUDGED_SECONDS
) -> Object:
    """Wait for a promotion."""
    found = until(
        lambda: [one for one in promotions(fleet).values() if fits(one)], what=what, seconds=seconds
    )
    return found[0]


def phase(promotion: Object) -> str:
    """Return how far a promotion is."""
    return str(promotion.get("status", {}).get("phase", ""))


def test_a_better_version_is_promoted_whoever_is_away(
    fleet: Fleet, installation: Installation
) -> None:
    with judged(fleet) as watches:
        candidate = first(fleet, lambda one: phase(one) in ("Replay", "Canary"), "a candidate")
        name, version = candidate["metadata"]["name"], candidate["spec"]["version"]

        def is_in(*phases: str) -> Callable[[Object], bool]:
            return lambda one: one["metadata"]["name"] == name and phase(one) in phases

        fleet.kubectl("delete", "pod", f"{fleet.name}-{AGGREGATOR}-0", "--wait=false")
        first(fleet, is_in("Canary"), "the canary")
        # Judging needs no operator; those that come back show what was decided meanwhile.
        installation.scale(0)
        try:
            fleet.kubectl("delete", "pod", f"{fleet.name}-{AGGREGATOR}-0", "--wait=false")
            fleet.kubectl("delete", "dpromo", name)
            until(lambda: all_run(fleet, candidate), what="all on the candidate", seconds=300)
        finally:
            installation.scale(2)
        # Deleting the object has forgotten nothing: the verdict is in the ledger.
        ended = first(fleet, is_in("Done"), "the promotion's end", seconds=120)
        assert_nobody_noticed(watches)

    assert ended["status"]["outcome"] == "Promoted", ended["status"]
    assert fleet.status()["drafter"]["stable"].startswith(f"{version}-")


def test_a_version_that_slows_its_canary_is_rejected(fleet: Fleet) -> None:
    with judged(fleet) as watches:
        candidate = first(fleet, lambda one: phase(one) in ("Replay", "Canary"), "a candidate")
        name, digest = candidate["metadata"]["name"], candidate["spec"]["digest"]
        for pod in fleet.pods():
            url = f"http://{pod['status']['podIP']}:8000"
            set_behaviour(url, {"acceptance": BETTER, "drafter_seconds": {digest: 0.05}})
        ended = first(
            fleet,
            lambda one: one["metadata"]["name"] == name and phase(one) == "Done",
            "the promotion's end",
        )
        assert_nobody_noticed(watches)

    assert ended["status"]["outcome"] == "Rejected", ended["status"]
    assert ended["status"]["message"]


def test_a_user_approves_and_aborts(fleet: Fleet) -> None:
    def decide(promotion: Object, decision: str) -> None:
        patch = json.dumps({"spec": {"decision": decision}})
        name = promotion["metadata"]["name"]
        fleet.kubectl("patch", "dpromo", name, "--type=merge", "--patch", patch)

    with judged(fleet, mode="Manual") as watches:
        waiting = first(fleet, waits, "a candidate that waits for approval")
        decide(waiting, "Approve")
        version = waiting["spec"]["version"]
        done = first(
            fleet,
            lambda one: one["spec"]["version"] == version and phase(one) == "Done",
            "the approved one's end",
        )
        second = first(
            fleet,
            lambda one: one["spec"]["version"] > version and phase(one) != "Done",
            "the next candidate",
        )
        decide(second, "Abort")
        aborted = first(
            fleet,
            lambda one: (
                one["metadata"]["name"] == second["metadata"]["name"] and phase(one) == "Done"
            ),
            "the aborted one's end",
            seconds=60,
        )
        assert_nobody_noticed(watches)

    assert done["status"]["outcome"] == "Promoted", done["status"]
    assert aborted["status"]["outcome"] == "Aborted", aborted["status"]


def waits(promotion: Object) -> bool:
    """Say whether a promotion goes on only when a user says so."""
    return bool(promotion.get("status", {}).get("waitsForApproval"))


def all_run(fleet: Fleet, candidate: Object) -> bool:
    """Say whether every engine says by itself that it runs the candidate."""
    digest = candidate["spec"]["digest"]
    return all(
        fleet.python(pod["metadata"]["name"], AGENT, OBSERVED).strip() == digest
        for pod in fleet.pods()
    )


# What the engine beside this agent was last seen to run.
OBSERVED = """
import pathlib
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader

page = PageReader.attach(pathlib.Path("/dev/shm/specfleet") / page_file(0)).read()
print(page["observed_digest"])
"""
