"""From deltas to a version in the store, and back after a restart. Blocking: runs in a thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specfleet_aggregator.promotion.history import History, fold
from specfleet_common.codecs.deltas import open_delta
from specfleet_common.diloco.combine import combine
from specfleet_common.diloco.lengths import TooLong
from specfleet_common.diloco.outer import initial_state, outer_step
from specfleet_common.diloco.rule import Rule
from specfleet_common.lineage import Lineage, Shapes
from specfleet_common.store import owner, versions
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.entries import VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.manifest import FORMAT, Manifest
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.tensors import decode, norm, shapes_of
from specfleet_common.wire.messages import DeltaHeader, VersionRef


@dataclass(frozen=True, slots=True)
class Outer:
    """How the deltas of a round become a step, and how large it is."""

    combine: Rule
    learning_rate: float
    momentum: float


@dataclass(frozen=True, slots=True)
class Base:
    """The version that a round starts from, and what its deltas are checked against.

    `damage` was found when it was loaded, `left_out` were deltas when it was published. Training
    has begun again from stable `fresh` times; with `is_fresh` it does so in this round.
    """

    manifest: Manifest
    stock: VersionRef
    taken: int
    shapes: Shapes
    damage: tuple[str, ...] = ()
    left_out: tuple[TooLong, ...] = ()
    fresh: int = 0
    is_fresh: bool = False

    @property
    def ref(self) -> VersionRef:
        """Return the version as workers know it."""
        return reference(self.manifest)


def reference(manifest: Manifest) -> VersionRef:
    """Return a version as workers know it."""
    return VersionRef(manifest.number, manifest.drafter.digest, manifest.drafter.size_bytes)


def stored_lineages(store: Store) -> list[Lineage]:
    """Return the lineages that have versions."""
    found = [versions.find_lineage(store, lineage_id) for lineage_id in versions.lineages(store)]
    return [lineage for lineage in found if lineage is not None]


def load(store: Store, ledger: Ledger, *, fleet: str) -> Base | None:
    """Return what a lineage has in the store, None when it has no version.

    Its newest version enters the ledger in case its publisher died just before.
    """
    owner.check(store, fleet)
    found = versions.find(store, ledger.lineage_id)
    if found.taken is None:
        return None
    stock = versions.read_manifest(store, ledger.lineage_id, 0)
    if found.newest is None or stock is None:
        raise DamagedVersion(f"no version is whole: {'; '.join(found.damage)}")
    # Judging begins with stock, so the ledger has to name it, whatever is missing between the two.
    for manifest in (stock, found.newest):
        _record(ledger, manifest)
    history = fold(History(), ledger.entries())
    base, damage = found.newest, found.damage
    restart = history.restarts_from(found.taken)
    if restart is not None:
        base, damage = _restarted(store, base, damage, restart.number)
    return Base(
        manifest=base,
        stock=reference(stock),
        taken=found.taken,
        shapes=versions.read_shapes(store, base),
        damage=damage,
        fresh=history.num_restarts,
        is_fresh=restart is not None,
    )


def publish_stock(
    store: Store, ledger: Ledger, lineage: Lineage, data: memoryview, *, fleet: str, now: float
) -> Base | None:
    """Write version 0; None when another aggregator has just done so."""
    owner.claim(store, fleet)
    tensors = decode(data)
    drafter = versions.write_drafter(store, lineage.id, 0, tensors, dtype=lineage.dtype)
    manifest = Manifest(
        format=FORMAT,
        lineage=lineage,
        number=0,
        parent=None,
        created_at=now,
        drafter=drafter,
        outer=None,
        parameter_norm=norm(tensors),
        workers=(),
        positions=0,
        reason="stock",
    )
    if not versions.publish(store, manifest):
        return None
    _record(ledger, manifest)
    return Base(manifest, stock=reference(manifest), taken=0, shapes=shapes_of(data))


def publish_next(
    store: Store,
    ledger: Ledger,
    base: Base,
    deltas: Mapping[str, tuple[DeltaHeader, memoryview]],
    outer: Outer,
    *,
    reason: str,
    now: float,
) -> Base | None:
    """Write the version that a round's deltas make; None when its number is taken.

    The workers' order is that of their names, so that the same deltas make the same version.
    """
    lineage, number = base.manifest.lineage, base.taken + 1
    opened = {
        worker_id: open_delta(data, header.codec, shapes=base.shapes)
        for worker_id, (header, data) in sorted(deltas.items())
    }
    combined = combine(opened, outer.combine)
    before = versions.read_outer(store, base.manifest)
    state = outer_step(
        initial_state(before.parameters) if base.is_fresh else before,
        combined.delta,
        lr=outer.learning_rate,
        momentum=outer.momentum,
    )
    manifest = Manifest(
        format=FORMAT,
        lineage=lineage,
        number=number,
        parent=base.manifest.number,
        created_at=now,
        drafter=versions.write_drafter(
            store, lineage.id, number, state.parameters, dtype=lineage.dtype
        ),
        outer=versions.write_outer(store, lineage.id, number, state),
        parameter_norm=norm(state.parameters),
        workers=tuple(sorted(deltas)),
        positions=sum(header.positions for header, _ in deltas.values()),
        reason=reason,
    )
    if not versions.publish(store, manifest):
        return None
    _record(ledger, manifest)
    return Base(
        manifest,
        stock=base.stock,
        taken=number,
        shapes=base.shapes,
        left_out=combined.left_out,
        fresh=base.fresh,
    )


def _restarted(
    store: Store, newest: Manifest, damage: tuple[str, ...], number: int
) -> tuple[Manifest, tuple[str, ...]]:
    """Return the version that training begins again from; the newest when that one is damaged."""
    try:
        manifest = versions.read_manifest(store, newest.lineage.id, number)
        if manifest is None:
            raise DamagedVersion(f"version {number} is missing")
        for content in manifest.contents:
            versions.read_content(store, manifest, content)
    except DamagedVersion as error:
        return newest, (*damage, str(error))
    return manifest, damage


def next_exists(store: Store, base: Base) -> bool:
    """Say whether the version after `base` exists; False while the store cannot tell."""
    try:
        return versions.read_manifest(store, base.manifest.lineage.id, base.taken + 1) is not None
    except DamagedVersion:
        return True
    except StoreError:
        return False


def _record(ledger: Ledger, manifest: Manifest) -> None:
    ledger.record(
        VersionPublished(
            kind="version_published",
            at=manifest.created_at,
            number=manifest.number,
            parent=manifest.parent,
            digest=manifest.drafter.digest,
            deltas=len(manifest.workers),
            reason=manifest.reason,
        )
    )
