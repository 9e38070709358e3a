"""Patches from one version to another: made once, and kept on the spool for whoever comes next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from specfleet_aggregator.spool import Spooled
from specfleet_common.codecs import patch
from specfleet_common.store import versions
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.manifest import Manifest
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.wire.messages import VersionRef

log = structlog.get_logger()

KEPT = 8
"""A file is open for each."""
# A patch that saves less than a tenth is not worth applying.
_WORTHWHILE = 0.9

_Key = tuple[str, str, str]


class Patches:
    """Lives in the event loop; making one is handed to a thread, through `tasks`."""

    def __init__(self, store: Store, spool_directory: Path, tasks: asyncio.TaskGroup) -> None:
        self._store = store
        self._spool_directory = spool_directory
        self._tasks = tasks
        self._made: dict[_Key, asyncio.Task[Spooled | StoreError | None]] = {}

    async def between(self, have: VersionRef, manifest: Manifest) -> memoryview | None:
        """Return the patch to a version, None when the version itself is the better answer."""
        key = (manifest.lineage.id, have.digest, manifest.drafter.digest)
        if key not in self._made:
            making = asyncio.to_thread(self._make, have, manifest)
            self._made[key] = self._tasks.create_task(making)
            self._forget_oldest()
        made = await asyncio.shield(self._made[key])
        if isinstance(made, StoreError):
            self._made.pop(key, None)
            raise made
        return None if made is None else made.data()

    def close(self) -> None:
        """Free the space of all patches."""
        for task in self._made.values():
            _free(task)
        self._made.clear()

    def _forget_oldest(self) -> None:
        finished = [key for key, task in self._made.items() if task.done()]
        for key in finished[: max(0, len(self._made) - KEPT)]:
            _free(self._made.pop(key))

    def _make(self, have: VersionRef, manifest: Manifest) -> Spooled | StoreError | None:
        """Return the patch, or None when there is none or it saves too little.

        A failure of the store is returned, because `tasks` would end the process with it.
        """
        try:
            base = self._content_of(manifest.lineage.id, have)
            if base is None:
                return None
            return self._spooled(
                base, versions.read_content(self._store, manifest, manifest.drafter)
            )
        except StoreError as error:
            return error

    def _content_of(self, lineage_id: str, have: VersionRef) -> memoryview | None:
        """Return what a caller has, None when it is not, or no longer, a whole version here."""
        try:
            manifest = versions.read_manifest(self._store, lineage_id, have.number)
            if manifest is None or manifest.drafter.digest != have.digest:
                return None
            return versions.read_content(self._store, manifest, manifest.drafter)
        except DamagedVersion:
            return None

    def _spooled(self, base: memoryview, version: memoryview) -> Spooled | None:
        spooled, size_bytes = Spooled(self._spool_directory), 0
        try:
            for part in patch.encode_parts(base, version):
                size_bytes += len(part)
                if size_bytes > _WORTHWHILE * len(version):
                    break
                spooled.file.write(part)
            else:
                spooled.file.flush()
                return spooled
        except OSError as error:
            log.warning("patch_failed", reason=str(error))
        spooled.close()
        return None


def _free(task: asyncio.Task[Spooled | StoreError | None]) -> None:
    if task.cancelled():
        return
    made = task.result()
    if isinstance(made, Spooled):
        made.close()
