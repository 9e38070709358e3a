"""Better candidates become stable, whoever is away, and when a user says so."""

from __future__ import annotations

import pytest

from e2e.kubernetes.courses import bucket, course
from e2e.kubernetes.fleet import AGGREGATOR, Fleet
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.judging import Judging, Object, outcome, phase
from e2e.kubernetes.pages import until_all_run
from e2e.kubernetes.waiting import until
from specfleet_common.api.promotion import Decision, Outcome, Phase

pytestmark = [pytest.mark.cluster, pytest.mark.long]

LONG_ENOUGH_SECONDS = 20
"""For an aggregator to be killed between two engines."""


def test_a_better_version_is_promoted_whoever_is_away(
    fleet: Fleet, installation: Installation
) -> None:
    judging = Judging(fleet)
    judging.configure(rollout={"pauseSeconds": LONG_ENOUGH_SECONDS})
    with judging.traffic():
        candidate = judging.candidate(Phase.REPLAY, Phase.CANARY)
        name, version = candidate["metadata"]["name"], candidate["spec"]["version"]

        judging.restart_aggregator()
        judging.until(candidate, Phase.CANARY)
        # Judging needs no operator; those that come back show what was decided meanwhile.
        installation.scale(0)
        try:
            fleet.kubectl("delete", "pod", f"{fleet.name}-{AGGREGATOR}-0", "--wait=false")
            fleet.kubectl("delete", "dpromo", name)
            until(
                lambda: course(bucket(fleet), version).promotion.phase,
                lambda found: found == Phase.ROLLING,
                what="the ledger says that it rolls out",
                seconds=300,
            )
            fleet.kubectl("delete", "pod", f"{fleet.name}-{AGGREGATOR}-0", "--wait=false")
            until_all_run(fleet, candidate["spec"]["digest"], seconds=300)
        finally:
            installation.scale(2)
        # Deleting the object has forgotten nothing: the verdict is in the ledger.
        ended = judging.ended(candidate)

    found = course(bucket(fleet), version)
    print(found)
    assert [step.phase for step in found.promotion.advanced] == ["Replay", "Canary", "Rolling"]
    assert outcome(ended) == Outcome.PROMOTED, ended["status"]
    assert fleet.status()["drafter"]["stable"].startswith(f"{version}-")


def test_a_user_approves_and_aborts(fleet: Fleet) -> None:
    judging = Judging(fleet)
    judging.configure(mode="Manual")
    with judging.traffic():
        waiting = judging.first(waits, "a candidate that waits for approval")
        judging.decide(waiting, Decision.APPROVE)
        approved = judging.ended(waiting)
        second = judging.candidate()
        judging.decide(second, Decision.ABORT)
        aborted = judging.ended(second)

    assert outcome(approved) == Outcome.PROMOTED, approved["status"]
    assert outcome(aborted) == Outcome.ABORTED, aborted["status"]
    assert phase(aborted) == Phase.DONE


def waits(promotion: Object) -> bool:
    """Say whether a promotion goes on only when a user says so."""
    return bool(promotion.get("status", {}).get("waitsForApproval"))
