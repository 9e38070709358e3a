"""What is computed and written for one round, without the processes around it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from e2e.bench.drafter import DTYPE, LINEAGE, SHAPES
from e2e.bench.memory import watching
from e2e.bench.timing import summed_up, timed
from specfleet_common import tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.codecs.deltas import Delta
from specfleet_common.diloco.combine import combine
from specfleet_common.diloco.outer import OuterState, initial_state, outer_step
from specfleet_common.diloco.rule import Rule
from specfleet_common.files import mapped
from specfleet_common.store import versions
from specfleet_common.store.base import Store
from specfleet_common.store.location import DirectoryLocation
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import ENVIRONMENT, s3_server
from specfleet_common.tensors import TensorMap

AGENTS = 6
MANY_AGENTS = 16
STEPS = 3


def encode(delta: TensorMap, codec: Codec, path: Path) -> dict[str, Any]:
    """Encode a delta twice, leave it in a file, and return times and size."""
    seconds = [timed(lambda: path.write_bytes(deltas.encode(delta, codec))) for _ in range(2)]
    return {"bytes": path.stat().st_size, "encode_and_write": asdict(summed_up(seconds))}


def outer(stock: Path, delta: Path, codec: Codec) -> tuple[OuterState, dict[str, Any]]:
    """Take outer steps with the deltas of six agents, each mapped from a file of its own."""
    return _steps(stock, _opened(delta, codec), Rule.MEAN)


def combining(stock: Path, delta: Path) -> dict[str, Any]:
    """Take outer steps with Float32 deltas by every rule, and note how much memory that takes.

    Memory is without the mapped files, whose pages the kernel can take back.
    """
    measured: dict[str, Any] = {}
    opened = _opened(delta, Codec.FLOAT32)
    for rule in Rule:
        for agents in (AGENTS, MANY_AGENTS):
            with watching(os.getpid()) as peak:
                _, seconds = _steps(stock, list(islice(cycle(opened), agents)), rule)
            memory = {"peak_anonymous_bytes": peak.anonymous_bytes}
            measured.setdefault(rule.value, {})[str(agents)] = seconds | memory
    return measured


def _steps(stock: Path, opened: Sequence[Delta], rule: Rule) -> tuple[OuterState, dict[str, Any]]:
    workers = {f"worker-{place:02d}": delta for place, delta in enumerate(opened)}
    state = initial_state(tensors.decode(stock.read_bytes()))
    seconds = []
    for _ in range(STEPS):
        began = time.perf_counter()
        state = outer_step(state, combine(workers, rule).delta, lr=0.7, momentum=0.9)
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


def _opened(source: Path, codec: Codec) -> list[Delta]:
    """Return the deltas of six agents, each mapped from a file of its own."""
    paths = [source.with_name(f"{source.name}.{number}") for number in range(AGENTS)]
    opened = []
    for path in paths:
        shutil.copyfile(source, path)
        with path.open("rb") as file:
            opened.append(deltas.open_delta(mapped(file), codec, shapes=SHAPES))
        path.unlink()
    return opened
