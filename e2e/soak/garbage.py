"""What lies in a store directory, and what of it nothing refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import PromotionOpened
from specfleet_common.store.evidence import after
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.manifest import MANIFEST_FILE
from specfleet_common.store.versions import lineages, published, read_manifest


@dataclass(frozen=True, slots=True)
class Stock:
    """How much a store holds, and the entries that nothing refers to."""

    entries: int
    bytes: int
    garbage: tuple[str, ...]


def stock_of(directory: Path) -> Stock:
    """Look through a store that nobody writes to."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return Stock(
        entries=len(files),
        bytes=sum(path.stat().st_size for path in files),
        garbage=tuple(sorted(_garbage(directory, files))),
    )


def _garbage(directory: Path, files: list[Path]) -> Iterator[str]:
    """Return what a writer that died has left.

    That is half-written files, files of versions that no manifest names, and records of promotions
    that the ledger does not know.
    """
    known = set(_known(directory))
    for path in files:
        name = path.relative_to(directory).as_posix()
        parts = name.split("/")
        if path.name.startswith("."):
            # The lock of the run that owns the directory is no entry either.
            if len(parts) > 1:
                yield name
        elif "/".join(parts[:3]) not in known and name not in known and len(parts) > 3:
            yield name


def _known(directory: Path) -> Iterator[str]:
    """Return the files of versions, and the folders of promotions, that something refers to."""
    store = DirectoryStore(directory)
    for lineage_id in lineages(store):
        for number in published(store, lineage_id):
            manifest = read_manifest(store, lineage_id, number)
            assert manifest is not None
            yield f"{lineage_id}/versions/{number}/{MANIFEST_FILE}"
            for content in manifest.contents:
                yield f"{lineage_id}/versions/{number}/{content.file}"
        for entry in Ledger(store, lineage_id).entries():
            if isinstance(entry, PromotionOpened):
                yield f"{lineage_id}/promotions/{entry.promotion}"
                yield f"{lineage_id}/promotions/{after(entry.promotion)}"
