"""Candidates are judged on live engines: simulated ones, with everything else as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.engines import ROOT
from e2e.fleets import STORE
from e2e.killing import kill
from e2e.promoting.simulated import BETTER, judging_fleet
from specfleet_cli.endpoints import FILE_NAME
from specfleet_common.lineage import STOCK
from specfleet_common.store.entries import (
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
)

pytestmark = pytest.mark.e2e


QUICK = {"engines": 2, "blockSeconds": 2, "maxSeconds": 600}
RECHECKED = {"blockSeconds": 2, "maxSeconds": 600, "recheckEvery": 1}
WORSE = {"stock": [0.9, 0.8, 0.7], "default": [0.3, 0.1, 0.05]}


def specfleet(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does."""
    command = [sys.executable, "-m", "specfleet_cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


async def test_a_better_version_reaches_all_engines_whoever_is_killed_and_goes_when_it_is_worse(
    tmp_path: Path,
) -> None:
    out = tmp_path / "fleet"
    async with judging_fleet(out, promotion={"minimumRounds": 3, "canary": RECHECKED}) as story:
        victim = story.fleet.workers[0]
        candidate = await story.next()
        # So that nothing comes after it.
        story.stop_learning()
        await story.until(candidate.id, "Replay", "Canary")
        await kill("aggregator", victim, out / FILE_NAME, story.observer)
        await story.until(candidate.id, "Canary")
        await kill("aggregator", victim, out / FILE_NAME, story.observer)
        await kill("agent", victim, out / FILE_NAME, story.observer)
        await story.until(candidate.id, "Rolling", "Done")
        await kill("aggregator", victim, out / FILE_NAME, story.observer)
        ended = await story.until(candidate.id, "Done")
        entries = story.entries(candidate.id)
        await story.until_all_run(candidate.digest)

        story.set(acceptance=WORSE)
        withdrawn = await story.until_it_is(candidate.id, "RolledBack")
        await story.until_all_run(STOCK)
        story.assert_nobody_noticed()

    assert ended.outcome == "Promoted", ended.sentence
    assert "stable over stock" in withdrawn.sentence
    assert [type(entry) for entry in entries] == [
        PromotionOpened,
        *[PromotionAdvanced] * 3,
        PromotionEnded,
    ]
    again = specfleet("rejudge", candidate.id, "--store", str(out / STORE))
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.long
async def test_a_version_that_slows_its_canary_is_rejected_and_gone_in_seconds(
    tmp_path: Path,
) -> None:
    out = tmp_path / "fleet"
    async with judging_fleet(out) as story:
        candidate = await story.next()
        story.set(acceptance=BETTER, drafter_seconds={candidate.digest: 0.05})
        ended = await story.until(candidate.id, "Done")
        await story.until_all_run(STOCK)
        story.assert_nobody_noticed()
        runs = [one for one in story.observer.observations if one.digest == candidate.digest]

    assert ended.outcome == "Rejected", ended.sentence
    assert [type(entry) for entry in story.entries(candidate.id)] == [
        PromotionOpened,
        *[PromotionAdvanced] * 2,
        PromotionEnded,
    ]
    assert len({one.worker for one in runs}) == 1 < len(story.fleet.workers)


@pytest.mark.long
async def test_a_candidate_waits_for_approval_and_can_be_aborted(tmp_path: Path) -> None:
    out = tmp_path / "fleet"
    async with judging_fleet(out, promotion={"mode": "Manual", "canary": QUICK}) as story:
        candidate = await story.next()
        assert await story.observer.until(
            lambda: any(one.waits_for_approval for one in story.promotions()), seconds=600
        )
        approved = specfleet("approve", candidate.id, "--directory", str(out))
        first = await story.until(candidate.id, "Done")

        second = await story.next(after=candidate.number)
        aborted = specfleet("abort", second.id, "--directory", str(out))
        ended = await story.until(second.id, "Done")
        await story.until_all_run(candidate.digest)
        story.assert_nobody_noticed()

    assert approved.returncode == 0, approved.stderr
    assert aborted.returncode == 0, aborted.stderr
    assert first.outcome == "Promoted", first.sentence
    assert ended.outcome == "Aborted", ended.sentence
