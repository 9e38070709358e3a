"""Bytes become arrays, or say what they hold; nothing that the encoder would not write passes."""

from __future__ import annotations

import os
from typing import BinaryIO

import numpy as np

from specfleet_common.lineage import Shapes
from specfleet_common.tensors.arrays import Array, from_bfloat16
from specfleet_common.tensors.checking import TensorError, check_shapes
from specfleet_common.tensors.layout import DTYPES, LENGTH, Entry, header_end, parse


def decode(data: bytes | memoryview, *, shapes: Shapes | None = None) -> dict[str, Array]:
    """Return the tensors as float32; `shapes`, when given, must be met exactly."""
    source = memoryview(data).cast("B")
    entries = _entries(source)
    if shapes is not None:
        check_shapes({entry.name: entry.shape for entry in entries}, shapes)
    return {entry.name: _read(source, entry) for entry in entries}


def view(data: bytes | memoryview, *, shapes: Shapes) -> dict[str, Array]:
    """Return read-only views into float32 bytes; unlike `decode` it copies nothing."""
    source = memoryview(data).cast("B").toreadonly()
    entries = _entries(source)
    check_shapes({entry.name: entry.shape for entry in entries}, shapes)
    for entry in entries:
        if entry.code != "F32":
            raise TensorError(f"{entry.name}: dtype is {DTYPES[entry.code]}, expected float32")
    return {
        entry.name: np.frombuffer(source[entry.begin : entry.end], "<f4").reshape(entry.shape)
        for entry in entries
    }


def dtype_of(data: bytes | memoryview) -> str:
    """Return the one dtype that all tensors have in the bytes; only the header is read."""
    codes = {entry.code for entry in _entries(memoryview(data).cast("B"))}
    if len(codes) != 1:
        raise TensorError(f"dtypes are {sorted(codes)}, expected one dtype for all tensors")
    return DTYPES[codes.pop()]


def shapes_of(data: bytes | memoryview) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor; only the header is read."""
    return {entry.name: entry.shape for entry in _entries(memoryview(data).cast("B"))}


def entries_of(data: bytes | memoryview) -> list[Entry]:
    """Return where every tensor lies, in the order of the names."""
    return sorted(_entries(memoryview(data).cast("B")), key=lambda entry: entry.name)


def entries_of_open_file(file: BinaryIO) -> list[Entry]:
    """Return where every tensor lies in a file, in the order of the names."""
    total = os.fstat(file.fileno()).st_size
    file.seek(0)
    start = header_end(file.read(LENGTH.size), total)
    entries = parse(file.read(start - LENGTH.size), start, total)
    return sorted(entries, key=lambda entry: entry.name)


def _entries(source: memoryview) -> list[Entry]:
    start = header_end(bytes(source[: LENGTH.size]), len(source))
    return parse(bytes(source[LENGTH.size : start]), start, len(source))


def _read(source: memoryview, entry: Entry) -> Array:
    data = source[entry.begin : entry.end]
    if entry.code == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32).reshape(entry.shape)
    return from_bfloat16(np.frombuffer(data, "<u2")).reshape(entry.shape)
