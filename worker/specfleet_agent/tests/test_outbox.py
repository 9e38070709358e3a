from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.outbox import Destination, Outbox
from specfleet_agent.tests.builders import LINEAGE
from specfleet_agent.tests.promoting import block, request, walk
from specfleet_common.exchange import WalkReport
from specfleet_common.judge.records import Block, Request
from specfleet_common.wire.messages import Evidence

HERE = Destination(LINEAGE.id, "3-candidate")
THERE = Destination(LINEAGE.id, "4-candidate")


def report(*names: str, promotion: str = "3-candidate") -> WalkReport:
    return WalkReport(promotion, LINEAGE.id, tuple(walk(name) for name in names))


def test_an_empty_outbox_has_nothing_to_hand_in() -> None:
    assert Outbox("worker-1").next_batch() is None


def test_a_batch_is_for_one_set() -> None:
    outbox = Outbox("worker-1")
    outbox.add(HERE, [block(1), request("a")])
    outbox.add(THERE, [block(2)])

    batch = outbox.next_batch()

    assert batch == Evidence(
        "worker-1", LINEAGE.id, "3-candidate", blocks=(block(1),), requests=(request("a"),)
    )


def test_a_batch_is_offered_until_it_is_done() -> None:
    outbox = Outbox("worker-1")
    outbox.add(HERE, [block(1)])
    first = outbox.next_batch()
    outbox.add(HERE, [block(2)])
    assert first is not None
    outbox.done(first)

    batch = outbox.next_batch()

    assert batch is not None and batch.blocks == (block(2),)


def test_what_waits_is_queued_again_after_a_restart() -> None:
    before, after = Outbox("worker-1"), Outbox("worker-1")
    before.add(HERE, [block(1), request("a")])
    before.add(THERE, [block(2)])
    before.add(HERE, [block(3)])

    after.take_up(before.waiting())

    assert set(after.waiting()) == set(before.waiting())
    assert len(after) == 4


def test_a_record_that_grows_while_it_is_handed_in_is_handed_in_again() -> None:
    outbox = Outbox("worker-1")
    outbox.add(HERE, [block(1)])
    first = outbox.next_batch()
    assert first is not None
    grown = replace(block(1), verify_steps=11)
    outbox.add(HERE, [grown])
    outbox.done(first)

    batch = outbox.next_batch()

    assert batch is not None and batch.blocks == (grown,)


def test_a_batch_has_at_most_two_thousand_records() -> None:
    outbox = Outbox("worker-1")
    outbox.add(HERE, [request(str(number)) for number in range(2001)])
    outbox.show_walks(report(*map(str, range(2001))))

    sizes = []
    while (batch := outbox.next_batch()) is not None:
        sizes.append((len(batch.requests), len(batch.walks)))
        outbox.done(batch)

    assert sizes == [(2000, 0), (1, 0), (0, 2000), (0, 1)]


def test_of_too_many_records_the_oldest_go() -> None:
    outbox = Outbox("worker-1", max_queued=2)
    outbox.add(HERE, [block(1), block(2)])

    dropped = outbox.add(HERE, [block(3)])

    batch = outbox.next_batch()
    assert dropped == (block(1),)
    assert batch is not None and batch.blocks == (block(2), block(3))


def test_walks_are_handed_in_once() -> None:
    outbox = Outbox("worker-1")
    outbox.show_walks(report("a"))
    first = outbox.next_batch()
    assert first is not None
    outbox.done(first)
    outbox.show_walks(report("a", "b"))

    batch = outbox.next_batch()

    assert first.walks == (walk("a"),)
    assert batch is not None and batch.walks == (walk("b"),)


def test_walks_of_another_promotion_are_others() -> None:
    outbox = Outbox("worker-1")
    outbox.show_walks(report("a"))
    first = outbox.next_batch()
    assert first is not None
    outbox.done(first)

    outbox.show_walks(report("a", promotion="4-candidate"))

    batch = outbox.next_batch()
    assert batch is not None
    assert (batch.set, batch.walks) == ("4-candidate", (walk("a"),))


def test_nothing_more_comes_for_a_set_that_is_not_wanted() -> None:
    outbox = Outbox("worker-1")
    outbox.add(HERE, [block(1)])
    outbox.add(THERE, [block(1)])
    outbox.show_walks(report("a"))

    outbox.stop("3-candidate", at=10.0)

    outbox.add(HERE, [block(2)])
    sets = []
    while (batch := outbox.next_batch()) is not None:
        sets.append(batch.set)
        outbox.done(batch)
    assert sets == ["4-candidate"]


def test_a_set_that_is_named_again_is_wanted_again() -> None:
    outbox = Outbox("worker-1")
    outbox.show_walks(report("a"))
    outbox.stop("3-candidate", at=10.0)

    outbox.go_on("3-candidate", asked_at=9.9)
    before = outbox.next_batch()
    outbox.go_on("3-candidate", asked_at=10.1)
    after = outbox.next_batch()

    assert before is None
    assert after is not None and after.walks == (walk("a"),)


records = st.lists(
    st.integers(0, 30).map(block) | st.integers(0, 30).map(lambda n: request(str(n)))
)


@given(st.lists(st.tuples(st.sampled_from([HERE, THERE]), records, st.booleans()), max_size=20))
def test_every_record_is_handed_in_whatever_fails(
    events: list[tuple[Destination, list[Block | Request], bool]],
) -> None:
    outbox = Outbox("worker-1")
    taken: set[tuple[str, Block | Request]] = set()

    def hand_in(*, succeeds: bool) -> bool:
        batch = outbox.next_batch()
        if batch is not None and succeeds:
            taken.update((batch.set, record) for record in batch.blocks)
            taken.update((batch.set, record) for record in batch.requests)
            outbox.done(batch)
        return batch is not None

    for destination, found, succeeds in events:
        outbox.add(destination, found)
        hand_in(succeeds=succeeds)
    while hand_in(succeeds=True):
        pass

    assert taken == {(where.set, record) for where, found, _ in events for record in found}
    assert len(outbox) == 0
