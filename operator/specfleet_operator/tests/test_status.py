"""What is written into a fleet's status, how seldom, and what is told of it."""

from __future__ import annotations

from typing import Any

from specfleet_common.lineage import Lineage
from specfleet_common.wire.messages import DrafterCounters
from specfleet_common.wire.testing import version
from specfleet_operator.aggregation import aggregation
from specfleet_operator.conditions import Verdict
from specfleet_operator.observed import AggregatorView
from specfleet_operator.status import LONGEST_MESSAGE, carried_over, status, transitions
from specfleet_operator.tests.building import NOW, promotion, silent, state, view, worker

READY = Verdict("True", "AsSpecified", "The engine is ready and as the spec says.")
STORE = Verdict("False", "StoreUnreachable", "The store takes no new version: 403.")


def written(
    old: dict[str, Any] | None = None,
    seen: AggregatorView | None = None,
    *,
    generation: int = 1,
    now: float = NOW,
    **verdicts: Verdict,
) -> dict[str, Any]:
    """Return the status of a fleet without engines."""
    return status(
        old or {},
        fleet="demo",
        generation=generation,
        cohorts=(),
        verdicts=verdicts or {"Ready": READY},
        aggregation=aggregation(seen, now),
        now=now,
    )


def drafter(digest: str, steps: int, accepted: int) -> DrafterCounters:
    return DrafterCounters(digest, steps, (steps,), (accepted,), 0, 0.0)


def test_a_condition_keeps_the_time_of_its_last_transition() -> None:
    first = written(Ready=READY)
    second = written(first, now=NOW + 60, Ready=READY)
    third = written(second, now=NOW + 120, Ready=STORE)

    times = [found["conditions"][0]["lastTransitionTime"] for found in (first, second, third)]

    assert times == ["2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z", "2027-01-15T08:02:00Z"]


def test_every_condition_says_which_generation_it_is_about() -> None:
    found = written(generation=7, Ready=READY, Aggregating=STORE)

    assert found["observedGeneration"] == 7
    assert [condition["observedGeneration"] for condition in found["conditions"]] == [7, 7]


def test_a_condition_that_does_not_apply_is_absent() -> None:
    before = written(Ready=READY, Training=READY)

    after = written(before, Ready=READY)

    assert [condition["type"] for condition in after["conditions"]] == ["Ready"]


def test_versions_are_shown_short() -> None:
    lineage = Lineage("t", "mtp", "l", "float32", "s")
    seen = view(state(base=version(13), stable=version(12), lineage=lineage))

    found = written(seen=seen)

    assert found["drafter"] == {"stable": "12-00000012", "lineage": lineage.id}
    assert found["aggregation"]["version"] == 13


def test_the_drafter_as_shipped_is_called_stock() -> None:
    assert written(seen=view(state()))["drafter"]["stable"] == "stock"


def test_the_lineage_of_most_engines_is_shown() -> None:
    few, many = state(live_workers=1, round=900), state(live_workers=2, round=4)

    assert written(seen=view(few, many))["aggregation"]["round"] == 4


def test_what_the_aggregator_said_last_stays_while_it_is_silent() -> None:
    before = written(seen=view(state(worker("a"), promotions=(promotion(12, "Canary"),))))

    after = written(before, silent(seconds=100))

    assert after == before


def test_the_acceptance_length_is_of_the_drafters_that_live_engines_run_now() -> None:
    seen = view(
        state(
            worker(
                "a", observed_digest="x", drafters=(drafter("x", 300, 600), drafter("y", 99, 0))
            ),
            worker("b", observed_digest="y", drafters=(drafter("y", 100, 0),)),
            worker("c", observed_digest="x", drafters=(drafter("x", 99, 0),), live=False),
        )
    )

    assert written(seen=seen)["acceptanceLength"] == "2.50"


def test_an_acceptance_length_that_moves_little_is_not_written_again() -> None:
    def seen(accepted: int) -> AggregatorView:
        return view(state(worker("a", drafters=(drafter("stock", 100, accepted),))))

    first = written(seen=seen(100))
    second = written(first, seen(104))
    third = written(second, seen(106))

    lengths = [found["acceptanceLength"] for found in (first, second, third)]
    assert lengths == ["2.00", "2.00", "2.06"]


def test_engines_that_verified_nothing_change_no_acceptance_length() -> None:
    idle = view(state(worker("a", drafters=())))

    assert "acceptanceLength" not in written(seen=idle)
    assert written({"acceptanceLength": "2.00"}, idle)["acceptanceLength"] == "2.00"


def test_a_drafter_that_has_just_begun_changes_no_acceptance_length() -> None:
    new = view(state(worker("a", observed_digest="new", drafters=(drafter("new", 7, 21),))))

    assert written({"acceptanceLength": "2.00"}, new)["acceptanceLength"] == "2.00"


def test_a_message_is_cut_to_what_a_status_takes() -> None:
    found = written(Ready=Verdict("False", "Refused", "x" * 100_000))

    (condition,) = found["conditions"]
    assert condition["message"] == "x" * LONGEST_MESSAGE + "…"


def test_only_what_changed_is_told() -> None:
    before = written(Ready=READY, Aggregating=READY)
    after = written(before, Ready=READY, Aggregating=STORE)

    assert transitions(before, before) == []
    assert [condition["type"] for condition in transitions(before, after)] == ["Aggregating"]


def test_what_ready_only_repeats_is_told_once() -> None:
    before = written(Ready=READY, Aggregating=READY)
    after = written(before, Ready=STORE, Aggregating=STORE)

    assert [condition["type"] for condition in transitions(before, after)] == ["Aggregating"]


def test_a_new_message_alone_is_not_told() -> None:
    before = written(Ready=STORE)
    after = written(before, Ready=Verdict("False", "StoreUnreachable", "other words"))

    assert transitions(before, after) == []


def test_only_a_condition_of_this_generation_is_carried_over() -> None:
    old = written(generation=3, Aggregating=STORE)

    assert carried_over(old, "Aggregating", generation=3) == STORE
    assert carried_over(old, "Aggregating", generation=4) is None
    assert carried_over(old, "Training", generation=3) is None
