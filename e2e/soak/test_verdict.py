"""What a soak finds fault with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from e2e.checks import Published, Revival
from e2e.cluster_traffic.records import Record
from e2e.soak.asking import Down, Tally
from e2e.soak.garbage import Stock
from e2e.soak.growth import Point, Sight
from e2e.soak.processes import AGGREGATOR, Life
from e2e.soak.readings import DESCRIPTORS, MEMORY
from e2e.soak.verdict import Ending, Facts, Stored, growth, growths, problems

LOOK = Sight(warm_up_seconds=0.0, bin_seconds=60.0)
VERSIONS = tuple(Stored(number, f"digest-{number}") for number in range(4))
FAILED = Record(number=9, began=100.0, seconds=2.0, status=500, failure="HTTP 500")
GOOD = Facts(
    growths=(),
    revivals=(Revival(AGGREGATOR, 10.0, 1.5, ""),),
    tallies={"main-0": Tally(answered=80)},
    down={},
    seen=(Published(5.0, 1, "digest-1"),),
    stored=VERSIONS,
    ledger=VERSIONS,
    store=Stock(20, 1000, ("a", "b")),
    crashes={"aggregator.log": 0},
    ending=Ending(0, (), ()),
)


def test_a_good_run_has_no_problems() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        pytest.param(
            replace(
                GOOD, revivals=(Revival("engine of main-1", 7.0, None, ""),), store=Stock(0, 0, ())
            ),
            "engine of main-1: killed at 7 s, did not come back",
            id="gone",
        ),
        pytest.param(
            replace(GOOD, tallies={"main-0": Tally(answered=80, failures=[FAILED])}),
            "main-0: 1 requests failed while their engine was there: request 9 at 100.0: HTTP 500",
            id="failed",
        ),
        pytest.param(
            replace(GOOD, tallies={"main-0": Tally(answered=80, different=[3, 3, 2])}),
            "main-0: prompts [2, 3] had several answers",
            id="different",
        ),
        pytest.param(
            replace(GOOD, tallies={"main-0": Tally(answered=3)}),
            "main-0: 3 answers, expected at least 50",
            id="idle",
        ),
        pytest.param(
            replace(GOOD, ledger=VERSIONS[:-1]),
            "ledger: it has other versions, or in another order, than the store",
            id="ledger",
        ),
        pytest.param(
            replace(GOOD, seen=(Published(5.0, 2, "other"),)),
            "version 2: told as other, stored as digest-2",
            id="reused",
        ),
        pytest.param(
            replace(GOOD, store=Stock(20, 1000, tuple("abcd"))),
            "store: nothing refers to 4 entries, expected at most 3 for each of 1 kills of the "
            "aggregator: ('a', 'b', 'c', 'd')",
            id="garbage",
        ),
        pytest.param(
            replace(GOOD, crashes={"agent.log": 2}), "agent.log: 2 tracebacks", id="crashed"
        ),
        pytest.param(
            replace(GOOD, ending=Ending(1, (), ())),
            "the run ended with exit code 1, expected 0",
            id="exit-code",
        ),
        pytest.param(
            replace(GOOD, ending=Ending(0, (4, 5), ())),
            "processes [4, 5] outlived the run",
            id="processes",
        ),
        pytest.param(
            replace(GOOD, ending=Ending(0, (), ("/dev/shm/x",))),
            "shared memory: ['/dev/shm/x'] outlived the run",
            id="shared-memory",
        ),
    ],
)
def test_each_fault_is_named(facts: Facts, problem: str) -> None:
    assert problems(facts) == [problem]


def test_a_gap_between_versions_is_named() -> None:
    gap = (*VERSIONS[:2], VERSIONS[3])

    found = problems(replace(GOOD, stored=gap, ledger=gap))

    assert found == ["store: versions [0, 1, 3] have a gap"]


def test_what_fails_while_the_engine_is_dead_is_no_fault() -> None:
    tallies = {"main-0": Tally(answered=80, failures=[FAILED])}

    assert problems(replace(GOOD, tallies=tallies, down={"main-0": [Down(101.0, 110.0)]})) == []
    assert problems(replace(GOOD, tallies=tallies, down={"main-0": [Down(103.0, 110.0)]}))
    assert problems(replace(GOOD, tallies=tallies, down={"main-1": [Down(101.0, 110.0)]}))


def test_what_leaks_is_named_with_its_rate() -> None:
    rising = {Life(7, 1): [Point(60.0 * minute, 100.0 + minute) for minute in range(121)]}
    steady = {Life(7, 1): [Point(60.0 * minute, 20.0) for minute in range(121)]}
    lives = {MEMORY: {"agent": {"agent-0": rising}}, DESCRIPTORS: {"agent": {"agent-0": steady}}}

    found = problems(replace(GOOD, growths=list(growths(lives, LOOK))))

    assert found == [
        "memory of agent: grows by 60.00 per hour, 120.00 in 120 minutes, expected at most 16.00 "
        "(usually 160.00)"
    ]


def test_answers_are_compared_and_failures_remembered() -> None:
    tally = Tally()
    for answer in ("x", "x", "y"):
        tally.take(replace(FAILED, failure="", prompt=4, answer=answer, tokens=5))
    tally.take(FAILED)

    assert (tally.answered, tally.tokens, tally.different) == (3, 15, [4])
    assert tally.failures == [FAILED]


@pytest.mark.parametrize(
    ("quantity", "kind", "added", "leaks"),
    [
        pytest.param(DESCRIPTORS, "aggregator", 8.0, False, id="patches-of-an-aggregator"),
        pytest.param(DESCRIPTORS, "aggregator", 14.0, True, id="more-than-an-aggregator-keeps"),
        pytest.param(DESCRIPTORS, "agent", 8.0, True, id="agent"),
        pytest.param(DESCRIPTORS, "agent", 3.0, False, id="a-transfer-of-an-agent"),
        pytest.param(MEMORY, "trainer", 30.0, False, id="rows-of-a-trainer"),
        pytest.param(MEMORY, "trainer", 60.0, True, id="more-than-a-trainer-keeps"),
        pytest.param(MEMORY, "agent", 30.0, True, id="rows-are-not-kept-by-an-agent"),
    ],
)
def test_what_is_held_may_grow_as_far_as_there_is_a_reason(
    quantity: str, kind: str, added: float, leaks: bool
) -> None:
    rising = [Point(float(second), 20.0 + added * second / 3600.0) for second in range(0, 3600, 5)]

    found = growth(quantity, kind, {kind: [rising]}, LOOK)

    assert found.leaks is leaks
