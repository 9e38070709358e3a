"""Containers of frames: what does not add up is refused before anything is allocated."""

from __future__ import annotations

import io
import json
import struct

import pytest
import zstandard

from specfleet_common.codecs import container, frames
from specfleet_common.tensors import BLOCK, TensorError

SHAPES = {"a": (2, 3), "b": (BLOCK + 1,)}


def encoded() -> bytes:
    blocks = {"a": [b"one"], "b": [b"two", b"three"]}
    return b"".join(container.encode_parts("test", SHAPES, blocks.__getitem__))


def with_header(header: object) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return b"SFLEET1\n" + struct.pack("<I", len(text)) + text


def test_bytes_and_files_give_the_same_frames_with_their_numbers_of_values() -> None:
    data = encoded()

    for found in (
        container.open_bytes(data, coding="test", shapes=SHAPES),
        container.open_file(io.BytesIO(data), coding="test", shapes=SHAPES),
    ):
        assert [(bytes(f), n) for f, n in found.blocks("a")] == [(b"one", 6)]
        assert [(bytes(f), n) for f, n in found.blocks("b")] == [(b"two", BLOCK), (b"three", 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "the first bytes are not", id="empty"),
        pytest.param(encoded()[:10], "a length is expected at byte 8", id="cut-in-a-length"),
        pytest.param(encoded()[:-1], "b: a frame ends at byte", id="cut-in-a-frame"),
        pytest.param(encoded()[:-9], "a length is expected at byte", id="a-frame-is-missing"),
        pytest.param(encoded() + b"x", "the frames end at byte", id="more-than-frames"),
        pytest.param(
            b"SFLEET1\n" + b"\xff" * 8, "the header is 4294967295 bytes long", id="huge-header"
        ),
        pytest.param(with_header(b"{"), "not JSON", id="not-json"),
        pytest.param(with_header([]), "not an object with coding and tensors", id="a-list"),
        pytest.param(with_header({"coding": 1, "tensors": []}), "is no text", id="coding"),
        pytest.param(
            with_header({"coding": "test", "tensors": [["a"]]}), "has the row ['a']", id="row"
        ),
        pytest.param(
            with_header({"coding": "test", "tensors": [["a", [-1]]]}), "shape is [-1]", id="shape"
        ),
        pytest.param(
            with_header({"coding": "test", "tensors": [["a", []], ["a", []]]}),
            "or one occurs twice",
            id="twice",
        ),
        pytest.param(
            with_header({"coding": "other", "tensors": []}), "coding is 'other'", id="other-coding"
        ),
        pytest.param(
            with_header({"coding": "test", "tensors": [["a", [1 << 40]]]}),
            "missing ['b']",
            id="other-shapes",
        ),
        pytest.param(
            with_header({"coding": "test", "tensors": [["a", [1 << 60]]]}),
            "a: shape is [1152921504606846976], expected whole",
            id="more-than-a-machine-has",
        ),
        pytest.param(
            with_header({"coding": "test", "tensors": [["\ud800", []]]}),
            "expected characters of Unicode",
            id="a-name-that-cannot-be-printed",
        ),
    ],
)
def test_what_does_not_add_up_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(TensorError) as refusal:
        container.open_bytes(data, coding="test", shapes=SHAPES)

    assert reason in str(refusal.value)


def test_a_frame_of_another_size_than_expected_is_not_decompressed() -> None:
    bomb = frames.compress([bytes(1 << 26)])

    with pytest.raises(TensorError, match="announces 67108864 bytes, expected 10"):
        frames.decompress(bomb, size_bytes=10)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"not a frame", id="not-a-frame"),
        pytest.param(frames.compress([b"01234", b"56789"])[:-1], id="cut"),
        pytest.param(frames.compress([b"01234", b"56789"]) + b"x", id="more-behind-it"),
        pytest.param(
            zstandard.ZstdCompressor(write_content_size=False).compress(b"0123456789"),
            id="size-not-announced",
        ),
    ],
)
def test_what_is_not_one_frame_is_refused(frame: bytes) -> None:
    with pytest.raises(TensorError):
        frames.decompress(frame, size_bytes=10)
