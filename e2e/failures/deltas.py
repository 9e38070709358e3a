"""Hands in deltas that no trainer would make, as a worker of the fleet that nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from specfleet_common.codecs.codec import Codec
from specfleet_common.tensors import Array, content_digest, encode
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import DeltaHeader, DeltaReply, FleetState

INTRUDER = "intruder"


@dataclass(frozen=True, slots=True)
class Delta:
    """What is handed in for the open round, and what its header says of it."""

    tensors: Mapping[str, Array]
    header: DeltaHeader
    data: bytes = field(repr=False)


def delta(tensors: Mapping[str, Array], state: FleetState) -> Delta:
    """Return a delta for the round that a state tells of."""
    assert state.base is not None, "there is no version yet"
    data = encode(tensors)
    header = DeltaHeader(
        worker_id=INTRUDER,
        lineage_id=state.lineage_id,
        round=state.round,
        base_version=state.base.number,
        digest=content_digest(data),
        size_bytes=len(data),
        steps=1,
        positions=1,
        codec=Codec.FLOAT32,
    )
    return Delta(tensors, header, data)


async def push(one: Delta, address: str, *, token_file: Path, folder: Path) -> DeltaReply:
    """Hand one in, and return what became of it."""
    source = folder / "delta.safetensors"
    source.write_bytes(one.data)
    access = access_by_files(token_file=token_file)
    async with AggregatorClient(address, access) as client:
        return await client.push_delta(one.header, source)


def zeros(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return a delta that changes nothing."""
    return {name: np.zeros_like(array, dtype=np.float32) for name, array in weights.items()}


def with_nan(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return a delta one of whose values is no number."""
    made = zeros(weights)
    next(iter(made.values())).flat[0] = np.nan
    return made


def reshaped(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return a delta one of whose tensors has another shape."""
    made = zeros(weights)
    name = next(iter(made))
    return {**made, name: np.zeros(made[name].size + 1, np.float32)}


def enormous(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return a delta that is a thousand times as long as the weights."""
    return {name: 1000 * array.astype(np.float32) for name, array in weights.items()}


def foreign(one: Delta) -> Delta:
    """Return a delta as one of another lineage."""
    return replace(one, header=replace(one.header, lineage_id="f" * 16))


def of_round_before(one: Delta) -> Delta:
    """Return a delta as one of the round before, which has closed."""
    header = replace(one.header, round=one.header.round - 1, base_version=one.header.round - 1)
    return replace(one, header=header)


def with_other_bytes(one: Delta) -> Delta:
    """Return a delta one bit of which changed on its way."""
    data = bytearray(one.data)
    data[-1] ^= 1
    return replace(one, data=bytes(data))
