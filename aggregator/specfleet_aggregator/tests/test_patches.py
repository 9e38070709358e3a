"""No more patches are kept than a few, however many versions there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np

from specfleet_aggregator.patches import KEPT, Patches
from specfleet_aggregator.publishing import reference
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.store import versions
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.manifest import FORMAT, Manifest
from specfleet_common.tensors import norm

SHAPES = {"w": (100, 100)}
LINEAGE = Lineage("f" * 64, "mtp", "mimo", "bfloat16", shapes_digest(SHAPES))


def published(store: DirectoryStore, number: int) -> Manifest:
    """Publish a version that hardly differs from the one before."""
    weights = np.random.default_rng(0).standard_normal(SHAPES["w"]).astype(np.float32)
    weights[number] += 1.0
    tensors = {"w": weights}
    manifest = Manifest(
        format=FORMAT,
        lineage=LINEAGE,
        number=number,
        parent=number - 1 if number else None,
        created_at=1.0,
        drafter=versions.write_drafter(store, LINEAGE.id, number, tensors, dtype=LINEAGE.dtype),
        outer=None,
        parameter_norm=norm(tensors),
        workers=(),
        positions=0,
        reason="test",
    )
    assert versions.publish(store, manifest)
    return manifest


def open_files(directory: Path) -> int:
    """Return how many files of this process lie in a directory, without a name."""
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            # That of the listing itself.
            continue
        found += target.startswith(str(directory)) and target.endswith("(deleted)")
    return found


@asynccontextmanager
async def patches(store: DirectoryStore, spool: Path) -> AsyncIterator[Patches]:
    async with asyncio.TaskGroup() as tasks:
        made = Patches(store, spool, tasks)
        yield made
        made.close()


async def test_a_file_is_open_for_each_of_the_newest_patches_only(tmp_path: Path) -> None:
    store, spool = DirectoryStore(tmp_path / "store"), tmp_path / "spool"
    spool.mkdir()
    manifests = [published(store, number) for number in range(KEPT + 4)]
    held = []

    async with patches(store, spool) as made:
        for before, after in pairwise(manifests):
            assert await made.between(reference(before), after)
            held.append(open_files(spool))

    assert held == [*range(1, KEPT + 1), *([KEPT] * 3)]
    assert open_files(spool) == 0
