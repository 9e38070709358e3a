from __future__ import annotations

from specfleet_agent.heartbeats import heartbeat
from specfleet_agent.situation import Files, Situation
from specfleet_agent.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    answer,
    holding,
    page,
    report,
    seen,
    version,
    worker,
)
from specfleet_common.lineage import EARLIER
from specfleet_common.wire.codec import decode_heartbeat, encode_heartbeat
from specfleet_common.wire.messages import DrafterCounters, TrainerStatus

COUNTERS = {
    "verify_steps": 5,
    "drafted": [5, 4],
    "accepted": [3, 1],
    "output_tokens": 9,
    "busy_seconds": 0.5,
}


def test_a_heartbeat_is_the_complete_state() -> None:
    engine = page(observed="local", drafters=({"digest": "local", **COUNTERS},))
    files = Files(versions=holding(3), report=report())

    beat = heartbeat(
        worker(), seen(answer(base=version(3)), files, engine=engine), trainer_phase="training"
    )

    assert beat is not None
    assert (beat.worker_id, beat.cohort, beat.trains) == ("worker-1", "main", True)
    assert beat.serve == "Stable"
    assert (beat.lineage, beat.stock_digest) == (LINEAGE, STOCK_DIGEST)
    assert (beat.held, beat.observed_digest, beat.swaps) == (version(3), "local", 3)
    assert beat.trainer == TrainerStatus("training", 6, 36, 640, 12.5, (2.0, 3.0))
    assert beat.drafters == (DrafterCounters("local", 5, (5, 4), (3, 1), 9, 0.5),)


def test_an_engine_that_has_run_more_drafters_than_it_counts_keeps_its_lease() -> None:
    engine = page(drafters=({"digest": EARLIER, **COUNTERS},))

    beat = heartbeat(worker(), seen(None, engine=engine), trainer_phase="waiting")

    assert beat is not None
    assert decode_heartbeat(encode_heartbeat(beat)) == beat


def test_stock_counts_under_its_digest() -> None:
    engine = page(drafters=({"digest": "stock", **COUNTERS},))

    beat = heartbeat(worker(), seen(None, engine=engine), trainer_phase="waiting")

    assert beat is not None
    assert [counters.digest for counters in beat.drafters] == [STOCK_DIGEST]


def test_the_first_heartbeat_holds_nothing_and_has_trained_nothing() -> None:
    beat = heartbeat(worker(), seen(None), trainer_phase="waiting")

    assert beat is not None
    assert beat.held is None
    assert beat.trainer == TrainerStatus("waiting", 0, 0, 0, 0.0, ())


def test_without_an_engine_there_is_none() -> None:
    assert heartbeat(worker(), Situation(), trainer_phase="waiting") is None


def test_an_engine_that_cannot_be_adapted_is_reported_with_its_reason() -> None:
    nothing_to_adapt = Situation(engine_problem="MissingHook: no drafter")

    beat = heartbeat(worker(), nothing_to_adapt, trainer_phase="waiting")

    assert beat is not None
    assert (beat.lineage, beat.engine_problem) == (None, "MissingHook: no drafter")


def test_a_reason_is_cut_to_what_the_aggregator_takes() -> None:
    beat = heartbeat(worker(), Situation(engine_problem="x" * 9999), trainer_phase="waiting")

    assert beat is not None
    assert decode_heartbeat(encode_heartbeat(beat)) == beat
