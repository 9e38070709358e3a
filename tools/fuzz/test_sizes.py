"""A claimed size is compared with what is there before anything of that size is allocated."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from specfleet_common.codecs import deltas, frames
from specfleet_common.codecs.codec import Codec
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.capture import CaptureError
from specfleet_common.shm.capture import decode as decode_record
from specfleet_common.shm.files import open_file
from specfleet_common.shm.layout import BANK, RING
from specfleet_common.shm.ring import Record, RingCorrupt, RingReader, RingWriter
from specfleet_common.shm.slots import SlotReader
from specfleet_common.tensors import TensorError, decode, encode
from specfleet_common.wire import codec
from specfleet_common.wire.chunks import MAX_PAYLOAD_BYTES, Assembly
from specfleet_common.wire.codec import WireError
from tools.bad_input.stored import many_rows
from tools.bad_input.weights import huge_frame, huge_header, huge_tensor
from tools.fuzz.borders import messages
from tools.fuzz.borders.shared_memory import LAYOUT
from tools.fuzz.borders.tensors import SHAPES, weights

CLAIMED = 1 << 60
ALLOWED_BYTES = 1 << 20


def _decode(data: bytes) -> object:
    return decode(data)


def _int8(data: bytes) -> object:
    delta = deltas.open_delta(data, Codec.INT8, shapes=SHAPES)
    return [list(delta.blocks(name)) for name in SHAPES]


def _step(payload: bytes) -> object:
    return decode_record(Record(2, payload), LAYOUT)


def _zstandard(data: bytes) -> object:
    return frames.decompress(data, size_bytes=100)


FLOAT32 = encode(weights(1))
INT8 = deltas.encode(weights(1), Codec.INT8)


@pytest.mark.parametrize(
    ("take", "data", "refused_as"),
    [
        pytest.param(_decode, huge_header(FLOAT32), TensorError, id="header of safetensors"),
        pytest.param(_decode, huge_tensor(FLOAT32), TensorError, id="shape of a tensor"),
        pytest.param(_int8, huge_frame(INT8), TensorError, id="frame of a delta"),
        pytest.param(
            _zstandard,
            b"\x28\xb5\x2f\xfd\xe0" + CLAIMED.to_bytes(8, "little"),
            TensorError,
            id="frame of Zstandard",
        ),
        pytest.param(_step, many_rows(), CaptureError, id="rows of a step"),
    ],
)
def test_a_claim_in_bytes_costs_nothing(
    take: Callable[[bytes], object], data: bytes, refused_as: type[Exception]
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(refused_as):
            take(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < ALLOWED_BYTES


def test_a_claim_in_the_words_of_a_bank_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bank"
    BankWriter.create(path, LAYOUT, 256).publish([b"weights"], "stock", "stock")
    file = open_file(path, BANK, None, writable=True)
    for base in (8, 16):
        file.words[base + 2] = CLAIMED

    tracemalloc.start()
    slot = SlotReader(file).read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert slot is None and peak < ALLOWED_BYTES


def test_a_claim_in_the_words_of_a_ring_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    RingWriter.create(path, LAYOUT, 256).write(1, [b"x"])
    open_file(path, RING, None, writable=True).words[0] = CLAIMED
    reader = RingReader.attach(path)

    tracemalloc.start()
    with pytest.raises(RingCorrupt):
        reader.read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < ALLOWED_BYTES


def test_an_upload_of_more_than_is_taken_begins_no_file(tmp_path: Path) -> None:
    with (tmp_path / "upload").open("wb") as file, pytest.raises(WireError, match="size_bytes"):
        Assembly(file, size_bytes=CLAIMED, limit_bytes=MAX_PAYLOAD_BYTES)


def test_a_refusal_is_short_whatever_was_sent() -> None:
    message = codec.encode_heartbeat(messages.BEAT)
    message.worker_id = "x" * (1 << 20)

    with pytest.raises(WireError) as refusal:
        codec.decode_heartbeat(message)

    assert len(str(refusal.value)) < 400
