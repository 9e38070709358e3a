"""Zstandard frames of a size that both sides know: nothing is allocated on the frame's word."""

from __future__ import annotations

from collections.abc import Sequence

import zstandard

from specfleet_common.tensors import TensorError

# Higher levels look for repetitions, of which rounded deltas have none.
_LEVEL = 1


def compress(sections: Sequence[bytes]) -> bytes:
    """Return a frame of sections that follow each other, each coded by its own statistics.

    The same bytes make the same frame with one version of the library.
    """
    size_bytes = sum(map(len, sections))
    compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=size_bytes)
    parts = []
    for section in sections:
        parts.append(compressor.compress(section))
        parts.append(compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    parts.append(compressor.flush())
    return b"".join(parts)


def decompress(frame: bytes | memoryview, *, size_bytes: int) -> bytes:
    """Return what is in a frame; TensorError unless it is exactly so many bytes."""
    try:
        announced = zstandard.get_frame_parameters(frame).content_size
        if announced != size_bytes:
            raise TensorError(f"a frame announces {announced} bytes, expected {size_bytes}")
        return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise TensorError(f"a frame cannot be decompressed: {error}") from error
