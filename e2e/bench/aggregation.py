"""What is computed and written for one round, without the processes around it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from e2e.bench.drafter import DTYPE, LINEAGE, SHAPES
from e2e.bench.timing import summed_up, timed
from specfleet_common import tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.combine import mean
from specfleet_common.diloco.outer import OuterState, initial_state, outer_step
from specfleet_common.files import mapped
from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.location import DirectoryLocation
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import ENVIRONMENT, s3_server
from specfleet_common.tensors import TensorMap

AGENTS = 6
STEPS = 3


def encode(delta: TensorMap, codec: Codec, path: Path) -> dict[str, Any]:
    """Encode a delta twice, leave it in a file, and return times and size."""
    seconds = [timed(lambda: path.write_bytes(deltas.encode(delta, codec))) for _ in range(2)]
    return {"bytes": path.stat().st_size, "encode_and_write": asdict(summed_up(seconds))}


def outer(stock: Path, delta: Path, codec: Codec) -> tuple[OuterState, dict[str, Any]]:
    """Take outer steps with the deltas of six agents, each mapped from a file of its own."""
    with _copies(delta) as files:
        opened = [deltas.open_delta(file, codec, shapes=SHAPES) for file in files]
        state = initial_state(tensors.decode(stock.read_bytes()))
        seconds = []
        for _ in range(STEPS):
            began = time.perf_counter()
            state = outer_step(state, mean(opened), lr=0.7, momentum=0.9)
            seconds.append(time.perf_counter() - began)
    return state, asdict(summed_up(seconds))


def store_writes(folder: Path, state: OuterState) -> dict[str, Any]:
    """Write one version with its outer state to a directory and to an S3 server on this machine."""
    (folder / "s3").mkdir()
    with s3_server(folder / "s3") as server:
        directory = open_store(DirectoryLocation(path=folder / "written"), ENVIRONMENT)
        s3 = open_store(server.location("bench"), ENVIRONMENT)
        return {
            "directory": timed(lambda: _write(directory, state)),
            "s3": timed(lambda: _write(s3, state)),
        }


def _write(store: Store, state: OuterState) -> None:
    versions.write_drafter(store, LINEAGE.id, 1, state.parameters, dtype=DTYPE)
    versions.write_outer(store, LINEAGE.id, 1, state)


@contextmanager
def _copies(source: Path) -> Iterator[list[memoryview]]:
    paths = [source.with_name(f"{source.name}.{number}") for number in range(AGENTS)]
    views = []
    for path in paths:
        shutil.copyfile(source, path)
        with path.open("rb") as file:
            views.append(mapped(file))
        path.unlink()
    yield views
