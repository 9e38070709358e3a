"""A version that is worse on purpose, and a fleet that takes it for its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from e2e.sabotage import REASON, damaged, publish_damaged
from specfleet_aggregator import publishing
from specfleet_aggregator.publishing import Base, Outer
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.tensors import Array, content_digest, decode, encode, norm
from specfleet_common.wire.messages import DeltaHeader

SHAPES = {"a": (40, 50), "b": (300,)}
LINEAGE = Lineage("f" * 64, "mtp", "mimo", "bfloat16", shapes_digest(SHAPES))
OUTER = Outer(Rule.MEAN, learning_rate=1.0, momentum=0.0)


class Overtaken:
    """A store in which somebody else acts just before the first manifest is written."""

    def __init__(self, store: Store, act: Callable[[], object]) -> None:
        self.read, self.list = store.read, store.list
        self._store = store
        self._acts = [act]

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        if path.endswith("manifest.json") and self._acts:
            self._acts.pop()()
        return self._store.create(path, parts)


def weights(seed: int = 0) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    return {
        name: random.normal(0.0, 10.0**place, shape).astype(np.float32)
        for place, (name, shape) in enumerate(SHAPES.items())
    }


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """Return a store with stock."""
    store = DirectoryStore(tmp_path)
    data = memoryview(encode(weights(), "bfloat16"))
    publishing.publish_stock(store, ledger(store), LINEAGE, data, fleet="fleet", now=1.0)
    return store


def ledger(store: DirectoryStore) -> Ledger:
    return Ledger(store, LINEAGE.id)


def load(store: DirectoryStore) -> Base:
    base = publishing.load(store, ledger(store), fleet="fleet")
    assert base is not None
    return base


def next_version(store: DirectoryStore, base: Base) -> Base | None:
    """Do what a running aggregator does at the end of a round."""
    data = encode({name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()})
    header = DeltaHeader(
        worker_id="w",
        lineage_id=LINEAGE.id,
        round=base.taken,
        base_version=base.manifest.number,
        digest=content_digest(data),
        size_bytes=len(data),
        steps=1,
        positions=1,
        codec=Codec.FLOAT32,
    )
    deltas = {"w": (header, memoryview(data))}
    return publishing.publish_next(
        store, ledger(store), base, deltas, OUTER, reason="all reported", now=2.0
    )


@pytest.mark.parametrize("amount", [0.1, 1.0])
def test_every_tensor_gets_its_own_share_of_noise(amount: float) -> None:
    whole = weights()

    worse = damaged(whole, seed=1, amount=amount)

    for name, array in whole.items():
        added = norm({name: worse[name] - array}) / norm({name: array})
        assert added == pytest.approx(amount, rel=0.1)
        assert worse[name].dtype == np.float32
        assert worse[name].shape == array.shape


def test_the_same_seed_does_the_same_damage() -> None:
    first, again, other = (damaged(weights(), seed=seed, amount=1.0) for seed in (1, 1, 2))

    assert encode(first) == encode(again) != encode(other)


def test_the_newest_version_comes_back_damaged_as_the_next_one(store: DirectoryStore) -> None:
    next_version(store, load(store))

    made = publish_damaged(store, LINEAGE.id, seed=1, now=3.0)

    assert (made.number, made.parent, made.reason) == (2, 1, REASON)
    found = versions.find(store, LINEAGE.id)
    assert found.newest == made and found.damage == ()
    whole = decode(encode(weights(), "bfloat16"))
    stored = decode(versions.read_content(store, made, made.drafter))
    expected = decode(encode(damaged(whole, seed=1), LINEAGE.dtype))
    assert all(np.array_equal(stored[name], expected[name]) for name in expected)


def test_a_running_fleet_takes_it_for_its_own_and_goes_on_from_it(store: DirectoryStore) -> None:
    running = load(store)

    made = publish_damaged(store, LINEAGE.id, seed=1, now=3.0)

    assert next_version(store, running) is None
    base = load(store)
    assert base.manifest == made
    following = next_version(store, base)
    assert following is not None
    assert (following.manifest.number, following.manifest.parent) == (2, 1)


def test_a_number_that_the_fleet_has_taken_is_left_to_it(store: DirectoryStore) -> None:
    overtaken = Overtaken(store, lambda: next_version(store, load(store)))

    made = publish_damaged(overtaken, LINEAGE.id, seed=1, now=3.0)

    assert (made.number, made.parent) == (2, 1)


def test_a_lineage_without_versions_cannot_be_damaged(tmp_path: Path) -> None:
    with pytest.raises(DamagedVersion, match="has no version that could be made worse"):
        publish_damaged(DirectoryStore(tmp_path), LINEAGE.id, seed=1, now=3.0)


def test_the_command_says_what_it_did(store: DirectoryStore, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "e2e.sabotage", str(tmp_path)]

    told = subprocess.run(command, capture_output=True, text=True, check=True)

    assert told.stdout == "version 1 is version 0, damaged on purpose\n"
