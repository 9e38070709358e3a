"""Where named tensors lie in safetensors bytes: the header, written and read.

The parser is our own because it must refuse everything that `encode_header` would not write.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any

from specfleet_common.lineage import Shapes
from specfleet_common.tensors.checking import (
    MAX_VALUES,
    TensorError,
    checked_name,
    checked_shape,
    quoted,
)

CODES = {"float32": "F32", "bfloat16": "BF16"}
DTYPES = {code: dtype for dtype, code in CODES.items()}
ITEM_BYTES = {"F32": 4, "BF16": 2}
LENGTH = struct.Struct("<Q")
_MAX_HEADER_BYTES = 4 << 20
_MAX_OFFSET = 4 * MAX_VALUES


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
        return DTYPES[self.code]


def encode_header(shapes: Shapes, dtype: str) -> bytes:
    """Return what `encode` puts before the values, which follow in the order of the names."""
    code = CODES[dtype]
    header: dict[str, object] = {}
    end = 0
    for name in sorted(shapes):
        begin, end = end, end + math.prod(shapes[name]) * ITEM_BYTES[code]
        shape = list(shapes[name])
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return LENGTH.pack(len(text)) + text


def header_end(prefix: bytes, total: int) -> int:
    """Return where the values begin, given the first bytes of `total`."""
    if len(prefix) < LENGTH.size:
        raise TensorError(f"{total} bytes are too few for a safetensors header")
    (length,) = LENGTH.unpack(prefix)
    if length > min(_MAX_HEADER_BYTES, total - LENGTH.size):
        raise TensorError(f"the header is {length} bytes long, but there are {total} in all")
    return LENGTH.size + int(length)


def parse(text: bytes, start: int, total: int) -> list[Entry]:
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
    checked_name(name)
    if not isinstance(row, dict) or set(row) != {"dtype", "shape", "data_offsets"}:
        raise TensorError(
            f"{name}: its entry is {quoted(row)}, expected dtype, shape, data_offsets"
        )
    code, shape = row["dtype"], checked_shape(row["shape"], name)
    if not isinstance(code, str) or code not in DTYPES:
        raise TensorError(f"{name}: dtype is {quoted(code)}, expected one of {sorted(DTYPES)}")
    begin, end = _offsets(row["data_offsets"], name)
    size = ITEM_BYTES[code] * math.prod(shape)
    if end - begin != size:
        raise TensorError(f"{name}: {end - begin} bytes, but shape {shape} needs {size}")
    return Entry(name, code, shape, start + begin, start + end)


def _offsets(offsets: Any, name: str) -> tuple[int, int]:
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(type(offset) is int and 0 <= offset <= _MAX_OFFSET for offset in offsets)
    ):
        raise TensorError(f"{name}: data_offsets is {quoted(offsets)}, expected begin and end")
    return offsets[0], offsets[1]
