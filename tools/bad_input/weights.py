"""Messages of workers, and their deltas."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from specfleet_aggregator.checking import delta_fault
from specfleet_common import tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.wire import codec
from specfleet_common.wire.chunks import Assembly
from specfleet_common.wire.codec import WireError
from tools.bad_input.case import Case, Section
from tools.fuzz.borders import messages
from tools.fuzz.borders.tensors import SHAPES, weights

_HUGE = 1 << 60


def sections() -> tuple[Section, ...]:
    """Return these sections."""
    return (
        Section(
            "Messages of workers",
            "The call ends with `INVALID_ARGUMENT` and the words. The worker logs them; what it "
            "has handed in is not counted, and it serves on.",
            (
                _beat("another protocol", protocol=9),
                _beat("a worker that is a path", worker_id="../x"),
                _beat("a worker of a megabyte", worker_id="x" * (1 << 20)),
                _beat("a digest that is none", stock_digest="C" * 64),
                _beat("an unknown word for what runs", observed_digest="new"),
                _beat("a problem without end", engine_problem="x" * 5000),
                Case("more bytes than are taken", WireError, _announced(_HUGE)),
                Case("fewer bytes than announced", WireError, _too_few),
                Case("evidence of another engine", WireError, _foreign_evidence),
                Case("evidence without end", WireError, _much_evidence),
                Case("a walk of more steps than tokens", WireError, _absurd_evidence),
            ),
        ),
        Section(
            "Deltas",
            "The delta is refused: it is counted for the worker, whose state shows the words, and "
            "the round goes on without it. Sizes are compared with what the fleet's shapes need "
            "before a byte of values is read.",
            (
                _delta("no safetensors", Codec.FLOAT32, lambda good: b"x" * 9),
                _delta("a header of 2^60 bytes", Codec.FLOAT32, huge_header),
                _delta("a tensor of 2^60 values", Codec.FLOAT32, huge_tensor),
                _delta("cut in the middle", Codec.FLOAT32, lambda good: good[:-9]),
                _delta("another dtype", Codec.FLOAT32, lambda good: _other("bfloat16")),
                _delta("other names", Codec.FLOAT32, lambda good: _renamed()),
                _delta("another shape", Codec.FLOAT32, lambda good: _reshaped()),
                _delta("NaN", Codec.FLOAT32, lambda good: _filled(np.nan)),
                _delta("infinity", Codec.BFLOAT16, lambda good: _filled(np.inf, Codec.BFLOAT16)),
                _delta("1000 times too long", Codec.FLOAT32, lambda good: _filled(1000.0)),
                _delta("another codec than announced", Codec.INT8, lambda good: _other("float32")),
                _delta("a frame of 2^60 bytes", Codec.INT8, huge_frame),
                _delta("a bit that flipped", Codec.TERNARY, _flipped, digest="d" * 64),
            ),
        ),
    )


def _beat(what: str, **changes: Any) -> Case:
    def hand_in(place: Path) -> object:
        message = codec.encode_heartbeat(messages.BEAT)
        for name, value in changes.items():
            setattr(message, name, value)
        return codec.decode_heartbeat(message)

    return Case(what, WireError, hand_in)


def _announced(size_bytes: int) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        with (place / "upload").open("wb") as file:
            return Assembly(file, size_bytes=size_bytes, limit_bytes=1000)

    return hand_in


def _too_few(place: Path) -> None:
    with (place / "upload").open("wb") as file:
        assembly = Assembly(file, size_bytes=10, limit_bytes=1000)
        assembly.add(b"x")
        assembly.finish()


def _foreign_evidence(place: Path) -> object:
    return codec.decode_evidence(codec.encode_evidence(replace(messages.EVIDENCE, worker_id="w-2")))


def _much_evidence(place: Path) -> object:
    walks = messages.EVIDENCE.walks * 2001
    return codec.decode_evidence(codec.encode_evidence(replace(messages.EVIDENCE, walks=walks)))


def _absurd_evidence(place: Path) -> object:
    message = codec.encode_evidence(messages.EVIDENCE)
    message.walks[0].stock_steps = 10
    return codec.decode_evidence(message)


def _delta(
    what: str, encoding: Codec, spoil: Callable[[bytes], bytes], *, digest: str = ""
) -> Case:
    def hand_in(place: Path) -> str | None:
        data = spoil(deltas.encode(weights(2), encoding))
        return delta_fault(
            memoryview(data),
            encoding,
            digest=digest or _digest(data, encoding),
            shapes=SHAPES,
            parameter_norm=1.0,
        )

    return Case(what, None, hand_in)


def _digest(data: bytes, encoding: Codec) -> str:
    try:
        return deltas.digest(data, encoding)
    except tensors.TensorError:
        return "d" * 64


def huge_header(good: bytes) -> bytes:
    return _HUGE.to_bytes(8, "little") + good[8:]


def huge_tensor(good: bytes) -> bytes:
    row = {"dtype": "F32", "shape": [_HUGE], "data_offsets": [0, 4 * _HUGE]}
    header = json.dumps({"a": row}).encode()
    return len(header).to_bytes(8, "little") + header


def huge_frame(good: bytes) -> bytes:
    """Have the first frame announce 2^60 bytes, as Zstandard writes it."""
    start = 12 + int.from_bytes(good[8:12], "little")
    bomb = b"\x28\xb5\x2f\xfd\xe0" + _HUGE.to_bytes(8, "little")
    length = int.from_bytes(good[start : start + 4], "little")
    rest = good[start + 4 + length :]
    return good[:start] + len(bomb).to_bytes(4, "little") + bomb + rest


def _flipped(good: bytes) -> bytes:
    return good[:-1] + bytes([good[-1] ^ 1])


def _other(dtype: str) -> bytes:
    return tensors.encode(weights(2), dtype)


def _renamed() -> bytes:
    return tensors.encode({f"x.{name}": values for name, values in weights(2).items()})


def _reshaped() -> bytes:
    return tensors.encode({**weights(2), "b.bias": np.zeros((6,), np.float32)})


def _filled(value: float, encoding: Codec = Codec.FLOAT32) -> bytes:
    full = {name: np.full(shape, value, np.float32) for name, shape in SHAPES.items()}
    return deltas.encode(full, encoding)
