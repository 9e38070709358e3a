"""A worker's delta as bytes, and those bytes as blocks of values again.

Float32 is plain safetensors. Everything else is a container of frames that are decoded one at a
time, so that nobody holds a whole delta in memory to look at it or to average it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specfleet_common import tensors
from specfleet_common.codecs import bfloat16, container, frames, int8, ternary
from specfleet_common.codecs.codec import Codec
from specfleet_common.codecs.container import Container
from specfleet_common.lineage import Shapes
from specfleet_common.tensors import Array, TensorError, TensorMap


class Delta(Protocol):
    """A delta that can be read block by block, as often as one likes."""

    @property
    def shapes(self) -> Shapes:
        """Return the shape of every tensor."""

    def blocks(self, name: str) -> Iterator[Array]:
        """Return the values of a tensor in blocks like those of `tensors.blocks`."""


class _Rounding(Protocol):
    """What a codec does to the values of one block, before entropy coding."""

    def raw_bytes(self, count: int) -> int: ...
    def encode(self, values: Array) -> list[bytes]: ...
    def decode(self, raw: bytes, count: int) -> Array: ...


_ROUNDINGS: Mapping[Codec, _Rounding] = {
    Codec.BFLOAT16: bfloat16,
    Codec.INT8: int8,
    Codec.TERNARY: ternary,
}


@dataclass(frozen=True, slots=True)
class Dense:
    """A delta in memory, or mapped into it."""

    values: TensorMap

    @property
    def shapes(self) -> Shapes:
        """Return the shape of every tensor."""
        return {name: array.shape for name, array in self.values.items()}

    def blocks(self, name: str) -> Iterator[Array]:
        """Return views of a tensor."""
        return tensors.blocks(self.values[name])


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A delta in its bytes."""

    container: Container
    rounding: _Rounding

    @property
    def shapes(self) -> Shapes:
        return self.container.shapes

    def blocks(self, name: str) -> Iterator[Array]:
        """Decode a tensor; TensorError where the bytes are none that `encode` would write."""
        for frame, count in self.container.blocks(name):
            try:
                raw = frames.decompress(frame, size_bytes=self.rounding.raw_bytes(count))
                yield self.rounding.decode(raw, count)
            except TensorError as error:
                raise TensorError(f"{name}: {error}") from error


def encode(delta: TensorMap, codec: Codec) -> bytes:
    """Return a float32 delta as bytes; what is not finite stays so, and will be refused."""
    if codec is Codec.FLOAT32:
        return tensors.encode(delta)
    rounding = _ROUNDINGS[codec]

    def frames_of(name: str) -> Iterator[bytes]:
        values = np.ascontiguousarray(delta[name])
        return (frames.compress(rounding.encode(block)) for block in tensors.blocks(values))

    shapes = {name: array.shape for name, array in delta.items()}
    return b"".join(container.encode_parts(codec.value, shapes, frames_of))


def open_delta(data: bytes | memoryview, codec: Codec, *, shapes: Shapes) -> Delta:
    """Return the delta in these bytes, whose names and shapes must be the expected ones."""
    if codec is Codec.FLOAT32:
        return Dense(tensors.view(data, shapes=shapes))
    found = container.open_bytes(data, coding=codec.value, shapes=shapes)
    return _Encoded(found, _ROUNDINGS[codec])


def digest(data: bytes | memoryview, codec: Codec) -> str:
    """Return what names a delta: of its tensors for Float32, of its bytes for all else."""
    if codec is Codec.FLOAT32:
        return tensors.content_digest(data)
    return hashlib.sha256(data).hexdigest()


def rounding_error(delta: TensorMap, data: bytes, codec: Codec) -> dict[str, Array]:
    """Return what encoding took away: the delta minus what the other side will decode."""
    shapes = {name: array.shape for name, array in delta.items()}
    decoded = open_delta(data, codec, shapes=shapes)
    errors = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
    for name, error in errors.items():
        values = tensors.blocks(np.ascontiguousarray(delta[name]))
        for out, value, known in zip(
            tensors.blocks(error), values, decoded.blocks(name), strict=True
        ):
            np.subtract(value, known, out=out)
    return errors
