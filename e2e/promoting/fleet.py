"""The fleet in which candidates are judged: engines that serve the stable version and train."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from specfleet_common.lineage import Lineage
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.versions import (
    find_lineage,
    lineages,
    publish,
    published,
    read_content,
    read_manifest,
    read_outer,
    write_drafter,
    write_outer,
)
from specfleet_common.tensors import decode

NO_NEW_VERSIONS = 1_000_000
"""Local steps of a round that does not end: what is judged is what the story puts in the store."""


def judging(engines: int) -> dict[str, Any]:
    """Return what a spec needs for judgements that take a minute or two."""
    return {
        "replicas": engines,
        "serve": "Stable",
        "train": True,
        "cohorts": [],
        "promotion": {
            "minimumRounds": 1,
            "replay": {"maxSeconds": 600},
            "canary": {"blockSeconds": 3, "maxSeconds": 600},
            "rollout": {"pauseSeconds": 1},
            "guards": {"tpot": "20%", "ttft": "50%"},
        },
    }


def set_judging(spec: dict[str, Any], *, engines: int) -> None:
    """Have a fleet judge what is in its store, and make no versions of its own."""
    spec.update(judging(engines))
    spec["aggregation"]["localSteps"] = NO_NEW_VERSIONS
    # So many that thirty conversations have come within a minute.
    spec["trainer"]["capture"]["holdoutPercent"] = 40
    spec["trainer"]["publishEverySteps"] = 0


def copy_until(source: Path, target: Path, *, number: int) -> None:
    """Copy the versions of a store's only lineage up to one of them into a new store."""
    old, new = DirectoryStore(source), DirectoryStore(target)
    lineage = _only_lineage(old)
    for each in published(old, lineage.id):
        if each <= number:
            _copy(old, each, new, each, lineage, parent=each - 1 if each else None, reason="copied")


def publish_again(source: Path, number: int, target: Path) -> str:
    """Publish a version of one store as the newest of another; return its digest."""
    old, new = DirectoryStore(source), DirectoryStore(target)
    lineage = _only_lineage(old)
    newest = published(new, lineage.id)[-1]
    return _copy(old, number, new, newest + 1, lineage, parent=newest, reason="published again")


def _only_lineage(store: DirectoryStore) -> Lineage:
    (lineage_id,) = lineages(store)
    lineage = find_lineage(store, lineage_id)
    assert lineage is not None, f"lineage {lineage_id} has versions"
    return lineage


def _copy(
    old: DirectoryStore,
    number: int,
    new: DirectoryStore,
    as_number: int,
    lineage: Lineage,
    *,
    parent: int | None,
    reason: str,
) -> str:
    manifest = read_manifest(old, lineage.id, number)
    assert manifest is not None, f"version {number} of lineage {lineage.id} is in the store"
    weights = decode(read_content(old, manifest, manifest.drafter))
    drafter = write_drafter(new, lineage.id, as_number, weights, dtype=lineage.dtype)
    outer = None
    if manifest.outer is not None:
        outer = write_outer(new, lineage.id, as_number, read_outer(old, manifest))
    copied = replace(
        manifest, number=as_number, parent=parent, drafter=drafter, outer=outer, reason=reason
    )
    assert publish(new, copied), f"version {as_number} of lineage {lineage.id} is there already"
    return drafter.digest
