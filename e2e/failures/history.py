"""Which versions a store says there have been, and whether any number was skipped or used twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from e2e.checks import Published
from specfleet_common.store.base import Store
from specfleet_common.store.entries import VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import (
    DamagedVersion,
    find_lineage,
    lineages,
    published,
    read_manifest,
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version; where its manifest is damaged, nothing of it is known."""

    digest: str = ""
    parent: int | None = None
    created_at: float = 0.0
    workers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """The versions of the only lineage, and which of them its ledger tells of, in order."""

    lineage_id: str
    versions: Mapping[int, Version]
    ledger: tuple[tuple[int, str], ...]

    @property
    def newest(self) -> Version:
        """Return the version with the highest number."""
        return self.versions[max(self.versions)]

    def check(self, before: History, *, told: Iterable[Published]) -> None:
        """Fail when a number was skipped, or stands for other weights than it once did."""
        assert list(self.versions) == list(range(len(self.versions))), list(self.versions)
        assert len(self.versions) > len(before.versions)
        named = [number for number, _ in self.ledger]
        assert len(named) == len(set(named)), f"the ledger tells of a version twice: {named}"
        known = {number: version.digest for number, version in self.versions.items()}
        claims = (
            *((number, version.digest) for number, version in before.versions.items()),
            *((one.number, one.digest) for one in told),
            *self.ledger,
        )
        reused = [one for one in claims if known.get(one[0]) and one[1] and known[one[0]] != one[1]]
        assert not reused, f"numbers stand for other weights now: {reused}, the store has {known}"


def read_history(store: Store) -> History:
    """Return what the store says."""
    (lineage_id,) = [one for one in lineages(store) if find_lineage(store, one) is not None]
    entries = Ledger(store, lineage_id).entries()
    return History(
        lineage_id=lineage_id,
        versions={n: _version(store, lineage_id, n) for n in published(store, lineage_id)},
        ledger=tuple((e.number, e.digest) for e in entries if isinstance(e, VersionPublished)),
    )


def _version(store: Store, lineage_id: str, number: int) -> Version:
    try:
        manifest = read_manifest(store, lineage_id, number)
    except DamagedVersion:
        return Version()
    assert manifest is not None, f"version {number} was there and is gone"
    return Version(manifest.drafter.digest, manifest.parent, manifest.created_at, manifest.workers)
