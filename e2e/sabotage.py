"""Makes a version worse on purpose, so that a demo can show what becomes of it.

Run as `python -m e2e.sabotage STORE`; a fleet that runs on the store takes it for its own next
version. Damage is noise: each weight w becomes w + amount * r * n, with n drawn from a standard
normal distribution and r the root mean square of its tensor.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.manifest import FORMAT, Manifest
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.tensors import Array, TensorMap, decode, norm

AMOUNT = 1.0
"""As much noise as there is weight: what the demo's head has learned is gone. It needs as many
verify steps as stock then, half as many more than before; with 0.3 an eighth more."""
REASON = "damaged on purpose"


def damaged(tensors: TensorMap, *, seed: int, amount: float = AMOUNT) -> dict[str, Array]:
    """Return the tensors with noise of `amount` times the root mean square of each."""
    random = np.random.default_rng(seed)
    return {
        name: array + noise(array, random) * np.float32(amount)
        for name, array in sorted(tensors.items())
    }


def noise(array: Array, random: np.random.Generator) -> Array:
    """Return noise that is as large as the array's own values."""
    level = np.float32(norm({"": array}) / np.sqrt(array.size))
    return level * random.standard_normal(array.shape, dtype=np.float32)


def publish_damaged(
    store: Store, lineage_id: str, *, seed: int, amount: float = AMOUNT, now: float
) -> Manifest:
    """Publish the newest version, damaged, as the next one; rounds that follow start from it.

    When a fleet publishes the number first, its version is the newest, and the next one follows it.
    """
    while True:
        found = versions.find(store, lineage_id)
        if found.newest is None or found.taken is None:
            raise DamagedVersion(f"lineage {lineage_id} has no version that could be made worse")
        newest, number = found.newest, found.taken + 1
        whole = decode(versions.read_content(store, newest, newest.drafter))
        worse = damaged(whole, seed=seed, amount=amount)
        dtype = newest.lineage.dtype
        manifest = Manifest(
            format=FORMAT,
            lineage=newest.lineage,
            number=number,
            parent=newest.number,
            created_at=now,
            drafter=versions.write_drafter(store, lineage_id, number, worse, dtype=dtype),
            outer=None,
            parameter_norm=norm(worse),
            workers=(),
            positions=0,
            reason=REASON,
        )
        if versions.publish(store, manifest):
            return manifest


def main() -> int:
    """Damage the newest version of every lineage of a store, and say which versions came of it."""
    parser = argparse.ArgumentParser(prog="python -m e2e.sabotage", description=__doc__)
    parser.add_argument("store", type=Path, help="directory of the store")
    parser.add_argument("--amount", type=float, default=AMOUNT, help="of noise, %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(sys.argv[1:])
    store = DirectoryStore(given.store)
    for lineage_id in versions.lineages(store):
        made = publish_damaged(
            store, lineage_id, seed=given.seed, amount=given.amount, now=time.time()
        )
        print(f"version {made.number} is version {made.parent}, {REASON}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
