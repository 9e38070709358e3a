"""The versions of a fleet that has ended, read from its store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.versions import find, lineages, read_content, read_manifest


@dataclass(frozen=True, slots=True)
class Version:
    """A global drafter; `weights` is its safetensors file."""

    number: int
    digest: str
    weights: memoryview


def stored_versions(directory: Path) -> list[Version]:
    """Return every version of the store's only lineage, stock first; end when there are no others.

    Without a new version a story has nothing to report.
    """
    store = DirectoryStore(directory)
    (lineage,) = lineages(store)
    taken = find(store, lineage).taken
    assert taken is not None, f"{directory}: lineage {lineage} has no version"
    if taken == 0:
        raise SystemExit(f"{directory}: holds stock only, nothing was learnt; see the agents' logs")
    found = []
    for number in range(taken + 1):
        manifest = read_manifest(store, lineage, number)
        assert manifest is not None, f"{directory}: version {number} of {taken} is missing"
        weights = read_content(store, manifest, manifest.drafter)
        found.append(Version(number, manifest.drafter.digest, weights))
    return found


def spread(versions: Sequence[Version], at_most: int) -> list[Version]:
    """Return at most so many versions, evenly spread, with the first and the last."""
    if len(versions) <= at_most:
        return list(versions)
    last = len(versions) - 1
    return [versions[round(index * last / (at_most - 1))] for index in range(at_most)]
