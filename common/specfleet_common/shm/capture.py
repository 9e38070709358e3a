"""What the engine says about a followed request, as records of the ring: begin, steps, end.

Encoding checks what the producer handed over and decoding refuses what the layout does not allow;
joining the rows of a request is the trainer's business.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specfleet_common.shm.layout import HIDDEN_DTYPES, Layout
from specfleet_common.shm.ring import Record

Part = bytes | memoryview

BEGIN = 1
STEP = 2
END = 3

REASONS = ("finished", "dropped", "aborted")

_BEGIN = struct.Struct("<QQII")
_END = struct.Struct("<QIB3x")
_STEP = struct.Struct("<QIIIIQ64s")
_HELD_OUT = 1
_COMPLETE = 2
_HIDDEN_TYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "bfloat16": np.dtype("<u2")}


class CaptureError(ValueError):
    """A step or a record is not what the layout allows."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A request is followed from its first row on; `key` names its conversation."""

    serial: int
    key: int
    held_out: bool
    complete: bool
    prompt_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The verified rows of all followed requests in one forward pass.

    Request `serials[r]` owns the `rows[r]` rows from `first[r]` on; `digest` names the drafter that
    proposed `drafts[r]` after the last of them. A decoded step's arrays are read-only.
    """

    number: int
    digest: str
    serials: NDArray[np.uint64]
    """[R]"""
    first: NDArray[np.uint32]
    """[R]"""
    rows: NDArray[np.uint32]
    """[R]"""
    drafts: NDArray[np.int32]
    """[R, K], -1 where there is none"""
    tokens: NDArray[np.int32]
    """[N], the token at the position"""
    fed: NDArray[np.int32]
    """[N], the next token as the drafter got it; at the end of a chunk not always the true one"""
    positions: NDArray[np.int32]
    """[N]"""
    hidden: NDArray[Any] | Part
    """[N, H], float32, or the bits of bfloat16 as uint16"""


@dataclass(frozen=True, slots=True)
class End:
    """A request is no longer followed; positions from `length` on do not count."""

    serial: int
    length: int
    reason: str


def encode_begin(begin: Begin) -> list[Part]:
    """Return the parts of a BEGIN record."""
    flags = _HELD_OUT * begin.held_out + _COMPLETE * begin.complete
    return [_BEGIN.pack(begin.serial, begin.key, flags, begin.prompt_tokens)]


def encode_end(end: End) -> list[Part]:
    """Return the parts of an END record."""
    if end.reason not in REASONS:
        raise CaptureError(f"reason is {end.reason!r}, expected one of {REASONS}")
    return [_END.pack(end.serial, end.length, REASONS.index(end.reason))]


def encode_step(step: Step) -> list[Part]:
    """Return the parts of a STEP record; the hidden states stay in the step's own memory."""
    requests, depths = step.drafts.shape
    rows = len(step.tokens)
    hidden = step.hidden
    if isinstance(hidden, np.ndarray):
        hidden = np.ascontiguousarray(hidden).data
    hidden_bytes = memoryview(hidden).nbytes
    digest = step.digest.encode()
    if not 0 < len(digest) <= 64:
        raise CaptureError(f"digest is {step.digest!r}, expected 1 to 64 characters")
    header = _STEP.pack(step.number, requests, rows, depths, 0, hidden_bytes, digest)
    # In one piece: each part costs the ring more than joining them does.
    small = (
        header,
        _checked("serials", step.serials, (requests,), np.uint64),
        _checked("first", step.first, (requests,), np.uint32),
        _checked("rows", step.rows, (requests,), np.uint32),
        _checked("drafts", step.drafts, (requests, depths), np.int32),
        _checked("tokens", step.tokens, (rows,), np.int32),
        _checked("fed", step.fed, (rows,), np.int32),
        _checked("positions", step.positions, (rows,), np.int32),
    )
    return [b"".join(small), hidden]


def decode(record: Record, layout: Layout) -> Begin | Step | End:
    """Undo the encoding; CaptureError for a record that the layout does not allow."""
    if record.kind == STEP:
        return _decode_step(record.payload, layout)
    if record.kind == BEGIN:
        _require_length("begin", record.payload, _BEGIN.size)
        serial, key, flags, prompt_tokens = _BEGIN.unpack(record.payload)
        return Begin(serial, key, bool(flags & _HELD_OUT), bool(flags & _COMPLETE), prompt_tokens)
    if record.kind == END:
        _require_length("end", record.payload, _END.size)
        serial, length, reason = _END.unpack(record.payload)
        if reason >= len(REASONS):
            raise CaptureError(f"end: reason is {reason}, expected less than {len(REASONS)}")
        return End(serial, length, REASONS[reason])
    raise CaptureError(f"record is of kind {record.kind}, expected {BEGIN}, {STEP} or {END}")


def _decode_step(payload: bytes, layout: Layout) -> Step:
    if len(payload) < _STEP.size:
        raise CaptureError(f"step: {len(payload)} bytes, expected at least {_STEP.size}")
    number, requests, rows, depths, _, hidden_bytes, digest = _STEP.unpack_from(payload)
    if depths != layout.num_speculative_tokens:
        raise CaptureError(
            f"step: {depths} drafts per request, expected {layout.num_speculative_tokens}"
        )
    expected = rows * layout.hidden_size * HIDDEN_DTYPES[layout.hidden_dtype]
    if hidden_bytes != expected:
        raise CaptureError(
            f"step: {hidden_bytes} bytes of hidden states, expected {expected} for {rows} rows"
        )
    _require_length(
        "step", payload, _STEP.size + requests * (16 + 4 * depths) + rows * 12 + hidden_bytes
    )

    cursor = _Cursor(payload, _STEP.size)
    step = Step(
        number=number,
        digest=_digest(digest),
        serials=cursor.take(np.dtype("<u8"), requests),
        first=cursor.take(np.dtype("<u4"), requests),
        rows=cursor.take(np.dtype("<u4"), requests),
        drafts=cursor.take(np.dtype("<i4"), requests * depths).reshape(requests, depths),
        tokens=cursor.take(np.dtype("<i4"), rows),
        fed=cursor.take(np.dtype("<i4"), rows),
        positions=cursor.take(np.dtype("<i4"), rows),
        hidden=cursor.take(_HIDDEN_TYPES[layout.hidden_dtype], rows * layout.hidden_size).reshape(
            rows, layout.hidden_size
        ),
    )
    ends = step.first.astype(np.int64) + step.rows
    if requests and ends.max() > rows:
        raise CaptureError(f"step: a request's rows end at {ends.max()}, expected at most {rows}")
    return step


def _digest(padded: bytes) -> str:
    try:
        return padded.rstrip(b"\0").decode("ascii")
    except UnicodeDecodeError as error:
        raise CaptureError(f"step: the drafter is {padded!r}, expected ASCII") from error


class _Cursor:
    """Arrays taken one after the other from one payload."""

    def __init__(self, payload: bytes, offset: int) -> None:
        self._payload = payload
        self._offset = offset

    def take(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        array = np.frombuffer(self._payload, dtype, count, self._offset)
        self._offset += array.nbytes
        return array


def _checked(
    name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: type[np.generic]
) -> memoryview:
    if array.shape != shape or array.dtype != dtype:
        raise CaptureError(
            f"{name} is {array.dtype}{list(array.shape)}, "
            f"expected {np.dtype(dtype).name}{list(shape)}"
        )
    return np.ascontiguousarray(array).data


def _require_length(name: str, payload: bytes, expected: int) -> None:
    if len(payload) != expected:
        raise CaptureError(f"{name}: {len(payload)} bytes, expected {expected}")
