"""Removes from a store directory what writers that died have left. Only its owner calls this.

Besides half-written files these are whole ones, of a writer that died before the manifest, when
another one has published the number with files of its own. Nobody ever reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from specfleet_common.store.base import StoreError
from specfleet_common.store.directory import DirectoryStore, remove_leftovers
from specfleet_common.store.manifest import MANIFEST_FILE
from specfleet_common.store.versions import DamagedVersion, lineages, read_manifest

_MOST_ENTRIES = 3
"""Of a version: its manifest, its drafter and its outer state."""


def sweep(root: Path, *, now: float) -> int:
    """Remove what nobody needs, and return how many files that were; `now` is wall time."""
    removed = remove_leftovers(root, now=now)
    store = DirectoryStore(root)
    for path in list(unreferenced(store)):
        try:
            (root / path).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {path}: {error}") from error
        removed += 1
    return removed


def unreferenced(store: DirectoryStore) -> Iterator[str]:
    """Return the files of versions that exist which their manifests do not name."""
    for lineage_id in lineages(store):
        directory = f"{lineage_id}/versions"
        for number in store.list(directory):
            names = store.list(f"{directory}/{number}")
            # Whoever starts on an old fleet has thousands of versions, and nearly all are whole.
            if len(names) > _MOST_ENTRIES:
                yield from _unnamed(store, lineage_id, number, names)


def _unnamed(
    store: DirectoryStore, lineage_id: str, number: str, names: list[str]
) -> Iterator[str]:
    """Return the files beside a manifest that it does not name; none while there is no manifest."""
    try:
        manifest = read_manifest(store, lineage_id, int(number))
    except (ValueError, DamagedVersion):
        return
    if manifest is None:
        return
    named = {MANIFEST_FILE, *(content.file for content in manifest.contents)}
    for name in names:
        if name not in named:
            yield f"{lineage_id}/versions/{number}/{name}"
