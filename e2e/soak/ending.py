"""What a run of a fleet has left: versions, the ledger, garbage, logs, processes, shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from e2e.soak.processes import Life, life_of
from e2e.soak.verdict import Ending, Stored
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import lineages, published, read_manifest

TRACEBACK = b"Traceback (most recent call last)"


def ending(exit_code: int, seen: Iterable[Life], shared: Iterable[Path]) -> Ending:
    """Say what is still there after the run."""
    return Ending(
        exit_code=exit_code,
        processes=tuple(sorted(life.pid for life in seen if life_of(life.pid) == life)),
        shared_memory=tuple(str(path) for path in shared if path.exists()),
    )


def stored(directory: Path) -> tuple[list[Stored], list[Stored]]:
    """Return the versions of the store's only lineage, and those that its ledger tells of."""
    store = DirectoryStore(directory)
    (lineage_id,) = lineages(store)
    versions = []
    for number in published(store, lineage_id):
        manifest = read_manifest(store, lineage_id, number)
        assert manifest is not None
        versions.append(Stored(number, manifest.drafter.digest))
    entries = Ledger(store, lineage_id).entries()
    told = [Stored(e.number, e.digest) for e in entries if isinstance(e, VersionPublished)]
    return versions, told


def crashes(logs: Path) -> dict[str, int]:
    """Return how many tracebacks each log has."""
    return {path.name: _count(path) for path in sorted(logs.glob("*.log"))}


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(TRACEBACK in line for line in file)
