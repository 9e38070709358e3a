"""What the store says of versions and of past promotions, read once, as it never changes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import structlog

from specfleet_aggregator.publishing import reference
from specfleet_common.store import evidence, versions
from specfleet_common.store.base import Store
from specfleet_common.store.evidence import EvidenceError, StoredVerdict
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.wire.messages import VersionRef

log = structlog.get_logger()


class Library:
    """One lineage; lives in the event loop, and reads in threads."""

    def __init__(self, lineage_id: str, store: Store) -> None:
        self._lineage_id = lineage_id
        self._store = store
        self.versions: dict[int, VersionRef] = {}
        """Those that were asked for and exist."""
        self.missing: frozenset[int] = frozenset()
        """Those that were asked for last and do not exist, or are damaged."""
        self.verdicts: dict[str, StoredVerdict | None] = {}
        """The last one on each set that was asked for last."""

    async def learn_versions(self, numbers: Collection[int]) -> None:
        """Learn the digests and sizes of versions; one that is damaged stays unknown."""
        missing = set()
        for number in set(numbers) - self.versions.keys():
            try:
                manifest = await asyncio.to_thread(
                    versions.read_manifest, self._store, self._lineage_id, number
                )
            except DamagedVersion as error:
                log.error("version_damaged", lineage=self._lineage_id, reason=str(error))
                manifest = None
            if manifest is None:
                missing.add(number)
            else:
                self.versions[number] = reference(manifest)
        self.missing = frozenset(missing)

    async def learn_verdicts(self, sets: Collection[str]) -> None:
        """Learn what was last concluded about sets that are closed, and forget all others."""
        self.verdicts = {name: known for name, known in self.verdicts.items() if name in sets}
        for set_ in set(sets) - self.verdicts.keys():
            try:
                found = await asyncio.to_thread(
                    evidence.verdicts, self._store, self._lineage_id, set_
                )
            except EvidenceError as error:
                found = ()
                log.error("verdict_damaged", lineage=self._lineage_id, reason=str(error))
            self.verdicts[set_] = found[-1] if found else None
