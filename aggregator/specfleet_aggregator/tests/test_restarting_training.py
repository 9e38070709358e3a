"""Training begins again from stable: which version the next round starts from, and with what."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specfleet_aggregator import publishing
from specfleet_aggregator.publishing import Base, Outer
from specfleet_aggregator.tests.builders import (
    LINEAGE,
    STOCK_BYTES,
    drafter,
    header,
    published_in,
)
from specfleet_common.diloco.rule import Rule
from specfleet_common.store import versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import TrainingRestarted
from specfleet_common.store.ledger import Ledger
from specfleet_common.tensors import encode


def published(store: DirectoryStore, base: Base) -> Base:
    data = encode(drafter(0.5))
    deltas = {"w": (header(round_=base.taken, data=data), memoryview(data))}
    made = publishing.publish_next(
        store,
        Ledger(store, LINEAGE.id),
        base,
        deltas,
        Outer(Rule.MEAN, 0.5, 0.9),
        reason="test",
        now=1.0,
    )
    assert made is not None
    return made


def loaded(store: DirectoryStore) -> Base:
    found = publishing.load(store, Ledger(store, LINEAGE.id), fleet="fleet")
    assert found is not None
    return found


def restarted(directory: Path) -> DirectoryStore:
    """Return a store with versions 0 to 2, where version 3 is to begin from 1."""
    store = DirectoryStore(directory)
    ledger = Ledger(store, LINEAGE.id)
    base = publishing.publish_stock(
        store, ledger, LINEAGE, memoryview(STOCK_BYTES), fleet="fleet", now=0.0
    )
    assert base is not None
    published(store, published(store, base))
    digest = published_in(store)[1].digest
    entry = TrainingRestarted("training_restarted", 2.0, 1, digest, 2, "test")
    assert ledger.append_at(len(ledger.entries()), entry)
    return store


def test_the_next_version_is_made_from_stable_without_velocity(tmp_path: Path) -> None:
    store = restarted(tmp_path)
    base = loaded(store)
    before = versions.read_outer(store, base.manifest)

    made = published(store, base)

    after = versions.read_outer(store, made.manifest)
    assert (base.manifest.number, base.taken, base.fresh) == (1, 2, 1)
    assert (made.manifest.number, made.manifest.parent, made.fresh) == (3, 1, 1)
    assert np.any(before.velocity["b.weight"])
    np.testing.assert_allclose(after.velocity["b.weight"], 0.5, rtol=1e-6)
    step = 0.5 * (0.5 + 0.9 * 0.5)
    np.testing.assert_allclose(
        after.parameters["b.weight"], before.parameters["b.weight"] - step, rtol=1e-6
    )


def test_the_version_after_that_goes_on_from_it_with_its_velocity(tmp_path: Path) -> None:
    store = restarted(tmp_path)
    third = published(store, loaded(store))
    again = loaded(store)

    fourth = published(store, again)

    assert again.manifest == third.manifest
    assert (again.fresh, fourth.fresh) == (1, 1)
    assert fourth.manifest.parent == 3
    velocity = versions.read_outer(store, fourth.manifest).velocity["b.weight"]
    np.testing.assert_allclose(velocity, 0.9 * 0.5 + 0.5, rtol=1e-6)


def test_a_stable_version_that_is_damaged_does_not_stop_training(tmp_path: Path) -> None:
    store = restarted(tmp_path)
    (lost,) = (tmp_path / LINEAGE.id / "versions" / "1").glob("drafter*")
    lost.unlink()

    base = loaded(store)

    assert (base.manifest.number, base.fresh) == (2, 1)
    assert "is missing" in base.damage[0]
