"""An aggregator that dies between any two writes, and two aggregators that share a store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from specfleet_aggregator import publishing
from specfleet_aggregator.publishing import Base, Outer
from specfleet_aggregator.tests.builders import (
    LINEAGE,
    STOCK_BYTES,
    FakeWorker,
    at_version,
    drafter,
    header,
    joined,
    published_in,
    serving,
    settings,
)
from specfleet_common.diloco.rule import Rule
from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.location import Location
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import ENVIRONMENT
from specfleet_common.tensors import encode

LAST = 2
# The owner's entry, twice; drafter, manifest and ledger of stock; one more for each version after.
NUM_WRITES = 2 + 3 + 4 * LAST
DEADLINE_SECONDS = 30.0


class Died(Exception):
    """The process is gone."""


class DyingStore:
    """A store whose user dies once it has written so often: before the next write, or in it."""

    def __init__(self, store: Store, *, writes: int, halfway: bool = False) -> None:
        self._store = store
        self._halfway = halfway
        self.left = writes

    def read(self, path: str) -> memoryview | None:
        return self._store.read(path)

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        if self.left == 0 and not self._halfway:
            raise Died
        if self.left == 0:
            return self._store.create(path, self._first(parts))
        self.left -= 1
        return self._store.create(path, parts)

    def list(self, path: str) -> list[str]:
        return self._store.list(path)

    def _first(self, parts: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
        for part in parts:
            yield part
            raise Died


def load(store: Store) -> Base | None:
    return publishing.load(store, Ledger(store, LINEAGE.id), fleet="fleet")


def publish_the_rest(store: Store) -> None:
    """Go on from what the store has until it has the last version."""
    ledger = Ledger(store, LINEAGE.id)
    base = publishing.load(store, ledger, fleet="fleet")
    if base is None:
        stock = memoryview(STOCK_BYTES)
        base = publishing.publish_stock(store, ledger, LINEAGE, stock, fleet="fleet", now=0.0)
    while base is not None and base.manifest.number < LAST:
        base = publish_one(store, ledger, base)


def publish_one(store: Store, ledger: Ledger, base: Base) -> Base | None:
    data = encode(drafter(0.5))
    deltas = {"w": (header(round_=base.taken, data=data), memoryview(data))}
    return publishing.publish_next(
        store, ledger, base, deltas, Outer(Rule.MEAN, 1.0, 0.9), reason="test", now=1.0
    )


def digests(store: Store) -> list[str]:
    """Return the digest of every version from its manifest, after reading it whole."""
    manifests = [
        versions.read_manifest(store, LINEAGE.id, number)
        for number in versions.published(store, LINEAGE.id)
    ]
    for manifest in manifests:
        assert manifest is not None
        versions.read_outer(store, manifest)
    return [manifest.drafter.digest for manifest in manifests if manifest is not None]


def test_a_story_without_a_crash_has_as_many_writes_as_the_crashes_below(store: Store) -> None:
    watched = DyingStore(store, writes=100)

    publish_the_rest(watched)

    assert 100 - watched.left == NUM_WRITES


@pytest.mark.parametrize("halfway", [False, True], ids=["before", "halfway"])
@pytest.mark.parametrize("writes", range(NUM_WRITES))
def test_after_a_crash_at_any_write_all_that_was_published_stays_and_the_rest_follows(
    store: Store, writes: int, halfway: bool
) -> None:
    with pytest.raises(Died):
        publish_the_rest(DyingStore(store, writes=writes, halfway=halfway))
    found, before = load(store), digests(store)
    recorded = published_in(store)
    publish_the_rest(store)

    after = digests(store)
    assert [entry.digest for entry in recorded] == before
    assert found is None if not before else found is not None and not found.damage
    assert len(after) == 1 + LAST
    assert after[: len(before)] == before
    assert [(entry.number, entry.digest) for entry in published_in(store)] == list(enumerate(after))


async def test_two_aggregators_on_one_store_never_publish_the_same_number(
    location: Location, tmp_path: Path
) -> None:
    one_store, two_store = (open_store(location, ENVIRONMENT) for _ in range(2))
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        serving(settings(tmp_path), one_store) as one_client,
        serving(settings(tmp_path), two_store) as two_client,
    ):
        one, two = FakeWorker(one_client, tmp_path, "one"), FakeWorker(two_client, tmp_path, "two")
        await joined(one)
        await joined(two)
        await asyncio.gather(one.push(drafter(0.25)), two.push(drafter(0.5)))
        first, second = await at_version(one, 1), await at_version(two, 1)

    assert first.base == second.base
    entries = published_in(one_store)
    assert [entry.number for entry in entries] == [0, 1]
