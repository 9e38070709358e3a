"""Large payloads travel in chunks: cut them, and put them together again in a file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from specfleet_common.wire.codec import WireError

CHUNK_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 16 << 30


def split(data: bytes | memoryview) -> Iterator[bytes]:
    """Return the bytes in chunks of at most 1 MiB."""
    view = memoryview(data).cast("B")
    return (bytes(view[at : at + CHUNK_BYTES]) for at in range(0, len(view), CHUNK_BYTES))


class Assembly:
    """Writes chunks to a file; refuses more or less than was announced."""

    def __init__(self, target: BinaryIO | io.BytesIO, *, size_bytes: int, limit_bytes: int) -> None:
        if not 0 < size_bytes <= limit_bytes:
            raise WireError(f"size_bytes: is {size_bytes}, expected 1 to {limit_bytes}")
        self._target = target
        self._size_bytes = size_bytes
        self._received_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Append one chunk."""
        if not 0 < len(chunk) <= CHUNK_BYTES:
            raise WireError(f"data: {len(chunk)} bytes in a chunk, expected 1 to {CHUNK_BYTES}")
        self._received_bytes += len(chunk)
        if self._received_bytes > self._size_bytes:
            raise WireError(f"data: more bytes than the {self._size_bytes} announced")
        self._target.write(chunk)

    def finish(self) -> None:
        """Raise WireError unless all announced bytes have come."""
        if self._received_bytes != self._size_bytes:
            raise WireError(f"data: {self._received_bytes} of {self._size_bytes} bytes came")
        self._target.flush()
