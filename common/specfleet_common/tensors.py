"""Named arrays as safetensors bytes, and the digest of their content.

Arrays are float32 in memory; `float32` or `bfloat16` in the bytes. The decoder is our own because
it must refuse everything that the encoder would not write, and must run without torch.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from specfleet_common.lineage import Shapes

Array = NDArray[np.float32]
TensorMap = Mapping[str, Array]

_CODES = {"float32": "F32", "bfloat16": "BF16"}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_ITEM_BYTES = {"F32": 4, "BF16": 2}
_LENGTH = struct.Struct("<Q")
_MAX_HEADER_BYTES = 4 << 20
BLOCK = 1 << 16
"""Values that are worked on together: with what is made of them, they stay in a core's cache."""
_READ_BYTES = 1 << 20


class TensorError(ValueError):
    """Bytes or arrays are not the tensors they should be."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one tensor lies in the bytes; `code` is its dtype as safetensors names it."""

    name: str
    code: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> str:
        """Return float32 or bfloat16."""
        return _DTYPES[self.code]


def encode(tensors: TensorMap, dtype: str = "float32") -> bytes:
    """Return safetensors bytes with the names sorted; bfloat16 rounds to nearest even."""
    return b"".join(encode_parts(tensors, dtype))


def encode_parts(tensors: TensorMap, dtype: str = "float32") -> Iterator[bytes | memoryview]:
    """Return what `encode` returns in parts, one tensor in memory at a time."""
    code = _check(tensors, dtype)
    yield encode_header({name: array.shape for name, array in tensors.items()}, dtype)
    for name in sorted(tensors):
        yield _bytes_of(tensors[name], code)


def encode_header(shapes: Shapes, dtype: str) -> bytes:
    """Return what `encode` puts before the values, which follow in the order of the names."""
    code = _CODES[dtype]
    header: dict[str, object] = {}
    end = 0
    for name in sorted(shapes):
        begin, end = end, end + math.prod(shapes[name]) * _ITEM_BYTES[code]
        shape = list(shapes[name])
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return _LENGTH.pack(len(text)) + text


def encoded_size_bytes(tensors: TensorMap, dtype: str = "float32") -> int:
    """Return the length of what `encode` returns, without building it."""
    item_bytes = _ITEM_BYTES[_check(tensors, dtype)]
    header = next(encode_parts(tensors, dtype))
    return len(header) + item_bytes * sum(array.size for array in tensors.values())


def encoded_digest(tensors: TensorMap, dtype: str = "float32") -> str:
    """Return the content digest of what `encode` returns, without building it."""
    code = _check(tensors, dtype)
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(_digest_line(name, code, tensors[name].shape))
        digest.update(_bytes_of(tensors[name], code))
    return digest.hexdigest()


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
            raise TensorError(f"{entry.name}: dtype is {_DTYPES[entry.code]}, expected float32")
    return {
        entry.name: np.frombuffer(source[entry.begin : entry.end], "<f4").reshape(entry.shape)
        for entry in entries
    }


def dtype_of(data: bytes | memoryview) -> str:
    """Return the one dtype that all tensors have in the bytes; only the header is read."""
    codes = {entry.code for entry in _entries(memoryview(data).cast("B"))}
    if len(codes) != 1:
        raise TensorError(f"dtypes are {sorted(codes)}, expected one dtype for all tensors")
    return _DTYPES[codes.pop()]


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
    start = _header_end(file.read(_LENGTH.size), total)
    entries = _parse(file.read(start - _LENGTH.size), start, total)
    return sorted(entries, key=lambda entry: entry.name)


def content_digest(data: bytes | memoryview) -> str:
    """Return the SHA-256 of names, dtypes, shapes and values, whatever the header's layout."""
    source = memoryview(data).cast("B")
    digest = hashlib.sha256()
    for entry in entries_of(source):
        digest.update(_digest_line(entry.name, entry.code, entry.shape))
        digest.update(source[entry.begin : entry.end])
    return digest.hexdigest()


def content_digest_of_file(path: Path) -> str:
    """Return the content digest of a file, with no more than 1 MiB of it in memory at once."""
    with path.open("rb") as file:
        return content_digest_of_open_file(file)


def content_digest_of_open_file(file: BinaryIO) -> str:
    """Return the content digest of a file that stays the same when another takes its path."""
    digest = hashlib.sha256()
    for entry in entries_of_open_file(file):
        digest.update(_digest_line(entry.name, entry.code, entry.shape))
        file.seek(entry.begin)
        for at in range(entry.begin, entry.end, _READ_BYTES):
            digest.update(file.read(min(_READ_BYTES, entry.end - at)))
    return digest.hexdigest()


def is_finite(tensors: TensorMap) -> bool:
    """Return whether no value is NaN or infinite."""
    return all(
        bool(np.isfinite(block).all()) for array in tensors.values() for block in blocks(array)
    )


def norm(tensors: TensorMap) -> float:
    """Return the Euclidean norm over all values, summed in float64."""
    total = 0.0
    for array in tensors.values():
        for block in blocks(array):
            total += float(np.square(block, dtype=np.float64).sum())
    return math.sqrt(total)


def blocks(array: Array) -> Iterator[Array]:
    """Return flat views of at most BLOCK values, so that temporaries stay small."""
    flat = array.reshape(-1)
    return (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))


def check_shapes(actual: Shapes, expected: Shapes) -> None:
    """Raise TensorError unless names and shapes are exactly the expected ones."""
    missing = sorted(set(expected) - set(actual))
    extra = sorted(set(actual) - set(expected))
    if missing or extra:
        raise TensorError(f"names differ from the expected ones: missing {missing}, extra {extra}")
    for name, shape in sorted(expected.items()):
        if tuple(actual[name]) != tuple(shape):
            raise TensorError(f"{name}: shape is {tuple(actual[name])}, expected {tuple(shape)}")


def _check(tensors: TensorMap, dtype: str) -> str:
    if dtype not in _CODES:
        raise TensorError(f"dtype is {dtype!r}, expected one of {sorted(_CODES)}")
    if not tensors:
        raise TensorError("there are no tensors, expected at least one")
    for name, array in tensors.items():
        if array.dtype != np.float32:
            raise TensorError(f"{name}: dtype in memory is {array.dtype}, expected float32")
    return _CODES[dtype]


def _digest_line(name: str, code: str, shape: tuple[int, ...]) -> bytes:
    line = json.dumps([name, code, list(shape)]).encode()
    return _LENGTH.pack(len(line)) + line


def _entries(source: memoryview) -> list[Entry]:
    start = _header_end(bytes(source[: _LENGTH.size]), len(source))
    return _parse(bytes(source[_LENGTH.size : start]), start, len(source))


def _header_end(prefix: bytes, total: int) -> int:
    if len(prefix) < _LENGTH.size:
        raise TensorError(f"{total} bytes are too few for a safetensors header")
    (length,) = _LENGTH.unpack(prefix)
    if length > min(_MAX_HEADER_BYTES, total - _LENGTH.size):
        raise TensorError(f"the header is {length} bytes long, but there are {total} in all")
    return _LENGTH.size + int(length)


def _parse(text: bytes, start: int, total: int) -> list[Entry]:
    """Return the tensors in the order of their bytes, which must lie side by side to the end."""
    try:
        header = json.loads(text, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        raise TensorError(f"the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise TensorError(f"the header is a {type(header).__name__}, expected an object")
    header.pop("__metadata__", None)
    if not header:
        raise TensorError("there are no tensors, expected at least one")
    entries = sorted(
        (_entry(name, row, start) for name, row in header.items()),
        key=lambda entry: (entry.begin, entry.end),
    )
    position = start
    for entry in entries:
        if entry.begin != position:
            raise TensorError(f"{entry.name}: begins at byte {entry.begin}, expected {position}")
        position = entry.end
    if position != total:
        raise TensorError(f"the tensors end at byte {position}, but there are {total} bytes")
    return entries


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _entry(name: str, row: Any, start: int) -> Entry:
    if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
        raise TensorError(f"{name}: its entry is {row!r}, expected dtype, shape, data_offsets")
    code, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPES:
        raise TensorError(f"{name}: dtype is {code!r}, expected one of {sorted(_DTYPES)}")
    for field, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(
            type(number) is int and number >= 0 for number in numbers
        ):
            raise TensorError(f"{name}: {field} is {numbers!r}, expected whole numbers")
    if len(offsets) != 2:
        raise TensorError(f"{name}: data_offsets is {offsets!r}, expected begin and end")
    size = _ITEM_BYTES[code] * math.prod(shape)
    if offsets[1] - offsets[0] != size:
        raise TensorError(
            f"{name}: {offsets[1] - offsets[0]} bytes, but shape {tuple(shape)} needs {size}"
        )
    return Entry(name, code, tuple(shape), start + offsets[0], start + offsets[1])


def _bytes_of(array: Array, code: str) -> memoryview:
    flat = np.ascontiguousarray(array).reshape(-1)
    if code == "F32":
        return flat.astype("<f4", copy=False).view(np.uint8).data
    result = np.empty(flat.size, "<u2")
    for start in range(0, flat.size, BLOCK):
        result[start : start + BLOCK] = to_bfloat16(flat[start : start + BLOCK])
    return result.view(np.uint8).data


def to_bfloat16(block: Array) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16 of each value; ties go to even."""
    bits = block.view(np.uint32)
    high = bits >> np.uint32(16)
    rounded = (bits + (np.uint32(0x7FFF) + (high & np.uint32(1)))) >> np.uint32(16)
    is_nan = np.isnan(block)
    if is_nan.any():
        rounded[is_nan] = high[is_nan] | np.uint32(0x40)
    return rounded.astype(np.uint16)


def from_bfloat16(bits: NDArray[np.uint16]) -> Array:
    """Return the values that bfloat16 bits stand for."""
    wide = bits.astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def _read(source: memoryview, entry: Entry) -> Array:
    data = source[entry.begin : entry.end]
    if entry.code == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32).reshape(entry.shape)
    return from_bfloat16(np.frombuffer(data, "<u2")).reshape(entry.shape)
