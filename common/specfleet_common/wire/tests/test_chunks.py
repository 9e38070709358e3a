"""Chunks put together are what was cut, and nothing more or less."""

from __future__ import annotations

import io

import pytest

from specfleet_common.wire.chunks import CHUNK_BYTES, Assembly, split
from specfleet_common.wire.codec import WireError


@pytest.mark.parametrize(
    "size_bytes", [1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES]
)
def test_assembling_undoes_splitting(size_bytes: int) -> None:
    data = bytes(size_bytes)
    target = io.BytesIO()
    assembly = Assembly(target, size_bytes=size_bytes, limit_bytes=size_bytes)

    for chunk in split(data):
        assembly.add(chunk)
    assembly.finish()

    assert target.getvalue() == data


@pytest.mark.parametrize("size_bytes", [0, 11])
def test_a_size_over_the_limit_is_refused_before_anything_is_written(size_bytes: int) -> None:
    with pytest.raises(WireError, match=f"size_bytes: is {size_bytes}, expected 1 to 10"):
        Assembly(io.BytesIO(), size_bytes=size_bytes, limit_bytes=10)


def test_more_than_was_announced_is_refused_and_not_written() -> None:
    target = io.BytesIO()
    assembly = Assembly(target, size_bytes=4, limit_bytes=10)
    assembly.add(b"123")

    with pytest.raises(WireError, match="more bytes than the 4 announced"):
        assembly.add(b"45")

    assert target.getvalue() == b"123"


def test_less_than_was_announced_is_refused() -> None:
    assembly = Assembly(io.BytesIO(), size_bytes=4, limit_bytes=10)
    assembly.add(b"123")

    with pytest.raises(WireError, match="3 of 4 bytes came"):
        assembly.finish()


@pytest.mark.parametrize("chunk", [b"", bytes(CHUNK_BYTES + 1)])
def test_chunks_are_neither_empty_nor_large(chunk: bytes) -> None:
    assembly = Assembly(io.BytesIO(), size_bytes=1 << 30, limit_bytes=1 << 30)

    with pytest.raises(WireError, match="in a chunk"):
        assembly.add(chunk)
