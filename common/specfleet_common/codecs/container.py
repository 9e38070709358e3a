"""Tensors as frames, one for every block of values, so that none is ever whole in memory.

    magic (8 bytes)
    length of the header (4 bytes), header: {"coding": ..., "tensors": [[name, shape], ...]}
    for every tensor in the order of the names, for every block of it: length (4 bytes), frame

What is in a frame is the business of `deltas` and `patch`, which name it by `coding`.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from specfleet_common.lineage import Shapes
from specfleet_common.tensors import (
    BLOCK,
    TensorError,
    check_shapes,
    checked_name,
    checked_shape,
    quoted,
)

_MAGIC = b"SFLEET1\n"
_LENGTH = struct.Struct("<I")
_MAX_HEADER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Frame:
    """Where one block of a tensor lies, and how many values it has."""

    begin: int
    end: int
    values: int


@dataclass(frozen=True, slots=True)
class Container:
    """The frames of every tensor; `read` returns the bytes from one position to another."""

    coding: str
    shapes: Shapes
    frames: Mapping[str, tuple[Frame, ...]]
    read: Callable[[int, int], bytes | memoryview]

    def blocks(self, name: str) -> Iterator[tuple[bytes | memoryview, int]]:
        """Return the frames of a tensor, each with the number of its values."""
        for frame in self.frames[name]:
            yield self.read(frame.begin, frame.end), frame.values


def encode_parts(
    coding: str, shapes: Shapes, frames: Callable[[str], Iterable[bytes]]
) -> Iterator[bytes]:
    """Return a container in parts; `frames` makes those of a tensor when its turn has come."""
    names = sorted(shapes)
    rows = [[name, list(shapes[name])] for name in names]
    header = json.dumps({"coding": coding, "tensors": rows}, separators=(",", ":")).encode()
    yield _MAGIC + _LENGTH.pack(len(header)) + header
    for name in names:
        for frame in frames(name):
            yield _LENGTH.pack(len(frame)) + frame


def open_bytes(data: bytes | memoryview, *, coding: str, shapes: Shapes) -> Container:
    """Return the container in bytes, which must have this coding and these shapes."""
    source = memoryview(data).cast("B")
    return _open(lambda begin, end: source[begin:end], len(source), coding, shapes)


def open_file(file: BinaryIO | io.BytesIO, *, coding: str, shapes: Shapes) -> Container:
    """Return the container in a file, of which one frame at a time is read."""

    def read(begin: int, end: int) -> bytes:
        file.seek(begin)
        return file.read(end - begin)

    return _open(read, file.seek(0, os.SEEK_END), coding, shapes)


def block_sizes(shape: tuple[int, ...]) -> list[int]:
    """Return how many values each block of a tensor has."""
    size = math.prod(shape)
    return [min(BLOCK, size - start) for start in range(0, size, BLOCK)]


def _open(
    read: Callable[[int, int], bytes | memoryview], total: int, coding: str, shapes: Shapes
) -> Container:
    actual_coding, actual_shapes, position = _header(read, total)
    if actual_coding != coding:
        raise TensorError(f"the coding is {quoted(actual_coding)}, expected {coding!r}")
    check_shapes(actual_shapes, shapes)
    frames: dict[str, tuple[Frame, ...]] = {}
    for name, shape in actual_shapes.items():
        found = []
        for values in block_sizes(shape):
            begin = position + _LENGTH.size
            length = _length(read, position, total)
            position = begin + length
            if position > total:
                raise TensorError(f"{name}: a frame ends at byte {position}, but there are {total}")
            found.append(Frame(begin, position, values))
        frames[name] = tuple(found)
    if position != total:
        raise TensorError(f"the frames end at byte {position}, but there are {total} bytes")
    return Container(coding, actual_shapes, frames, read)


def _header(
    read: Callable[[int, int], bytes | memoryview], total: int
) -> tuple[str, dict[str, tuple[int, ...]], int]:
    if bytes(read(0, len(_MAGIC))) != _MAGIC:
        raise TensorError(f"the first bytes are not {_MAGIC!r}")
    start = len(_MAGIC) + _LENGTH.size
    length = _length(read, len(_MAGIC), total)
    if length > min(_MAX_HEADER_BYTES, total - start):
        raise TensorError(f"the header is {length} bytes long, but there are {total} in all")
    try:
        header = json.loads(bytes(read(start, start + length)))
    except (ValueError, RecursionError) as error:
        raise TensorError(f"the header is not JSON: {error}") from error
    if not isinstance(header, dict) or set(header) != {"coding", "tensors"}:
        raise TensorError("the header is not an object with coding and tensors")
    if not isinstance(header["coding"], str) or not isinstance(header["tensors"], list):
        raise TensorError("the header's coding is no text, or its tensors are no list")
    rows = [_row(row) for row in header["tensors"]]
    names = [name for name, _ in rows]
    if names != sorted(set(names)):
        raise TensorError("the header's names are not in order, or one occurs twice")
    return header["coding"], dict(rows), start + length


def _row(row: Any) -> tuple[str, tuple[int, ...]]:
    if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], str):
        raise TensorError(f"the header has the row {quoted(row)}, expected a name and a shape")
    name = checked_name(row[0])
    return name, checked_shape(row[1], name)


def _length(read: Callable[[int, int], bytes | memoryview], position: int, total: int) -> int:
    if position + _LENGTH.size > total:
        raise TensorError(f"{total} bytes are too few: a length is expected at byte {position}")
    (length,) = _LENGTH.unpack(read(position, position + _LENGTH.size))
    return int(length)
