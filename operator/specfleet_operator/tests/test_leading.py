"""Holding a Lease against an API server in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from specfleet_operator.api import Unreachable
from specfleet_operator.kinds import LEASE
from specfleet_operator.leading import LeaseHolder
from specfleet_operator.observed import Object
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock


@dataclass
class Away(FakeCluster):
    """An API server that does not answer while `is_away`."""

    is_away: bool = field(default=False)

    def __post_init__(self) -> None:
        super().__init__()

    async def replace(self, item: Object) -> Object:
        if self.is_away:
            raise Unreachable("away")
        return await super().replace(item)


def holder(cluster: FakeCluster, name: str, clock: Clock) -> LeaseHolder:
    return LeaseHolder(
        cluster,
        namespace="ns",
        name="lease",
        holder=name,
        lease_seconds=15.0,
        clock=clock,
        wall_clock=clock,
    )


async def test_the_first_leads_and_the_second_does_not() -> None:
    cluster, clock = FakeCluster(), Clock()
    first, second = holder(cluster, "a", clock), holder(cluster, "b", clock)

    assert await first.try_to_hold()
    assert not await second.try_to_hold()
    assert first.holds() and not second.holds()


async def test_a_leader_that_is_gone_is_replaced_after_the_length_of_its_lease() -> None:
    cluster, clock = FakeCluster(), Clock()
    await holder(cluster, "gone", clock).try_to_hold()
    second = holder(cluster, "b", clock)
    await second.try_to_hold()

    clock.now += 15.1

    assert await second.try_to_hold()


async def test_a_leader_that_was_frozen_may_not_write_when_it_wakes_up() -> None:
    cluster, clock = FakeCluster(), Clock()
    frozen, second = holder(cluster, "a", clock), holder(cluster, "b", clock)
    await frozen.try_to_hold()
    await second.try_to_hold()

    clock.now += 15.1
    await second.try_to_hold()

    assert not frozen.holds()
    assert not await frozen.try_to_hold()


async def test_a_leader_may_write_until_it_cannot_renew_for_too_long() -> None:
    cluster, clock = Away(), Clock()
    leader = holder(cluster, "a", clock)
    await leader.try_to_hold()
    cluster.is_away = True

    clock.now += 9.9
    assert await leader.try_to_hold()

    clock.now += 0.1
    assert not await leader.try_to_hold()


async def test_a_lease_that_is_given_back_is_free_at_once() -> None:
    cluster, clock = FakeCluster(), Clock()
    first, second = holder(cluster, "a", clock), holder(cluster, "b", clock)
    await first.try_to_hold()

    await first.give_back()

    assert not first.holds()
    assert await second.try_to_hold()
    found = await cluster.get(LEASE, "ns", "lease")
    assert found is not None and found["spec"]["leaseTransitions"] == 1


async def test_who_does_not_hold_the_lease_gives_nothing_back() -> None:
    cluster, clock = FakeCluster(), Clock()
    first, second = holder(cluster, "a", clock), holder(cluster, "b", clock)
    await first.try_to_hold()
    await second.try_to_hold()

    await second.give_back()

    assert await first.try_to_hold()
