"""What a worker is told."""

from __future__ import annotations

from dataclasses import replace

from specfleet_aggregator.promotion.telling import Scene, Told, tell
from specfleet_aggregator.promotion.tests.fleets import VERSIONS, fleet
from specfleet_aggregator.promotion.tests.worlds import in_phase


def test_nobody_measures_what_cannot_be_taken() -> None:
    found = fleet("a")
    found.assign()
    pending = Scene(in_phase("Pending"), None, VERSIONS)
    canary = Scene(found.running, None, VERSIONS)

    told = [tell(scene, found.roster, "a", trains=True, now=0.0) for scene in (pending, canary)]

    assert told == [Told(), Told()]


def test_elapsed_seconds_count_from_the_canarys_beginning() -> None:
    found = fleet("a")
    assert found.running is not None
    replay, canary = found.running.advanced
    steps = (replace(replay, at=100.0), replace(canary, at=160.0))
    found.running = replace(found.running, advanced=steps)
    found.now = 200.0
    found.assign()

    comparison = found.told("a").comparison

    assert comparison is not None
    assert comparison.elapsed_seconds == 40.0


def test_workers_that_train_walk_until_the_candidate_is_on_live_engines() -> None:
    told = [fleet("a", phase=phase).told("a").walk for phase in ("Pending", "Replay", "Canary")]

    assert [walk is not None for walk in told] == [True, True, False]
