"""A version that comes in chunks becomes a file, which is checked before it is used."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from specfleet_common.tensors import content_digest_of_file
from specfleet_common.wire.chunks import MAX_PAYLOAD_BYTES, Assembly
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import VersionRef
from specfleet_common.wire.v1 import specfleet_pb2 as pb


async def receive(chunks: AsyncIterator[pb.VersionChunk], path: Path, size_bytes: int) -> None:
    """Write what follows the header; WireError when it is not of the announced size."""
    with path.open("wb") as file:
        assembly = Assembly(file, size_bytes=size_bytes, limit_bytes=MAX_PAYLOAD_BYTES)
        async for chunk in chunks:
            assembly.add(chunk.data)
        assembly.finish()


def check_version(path: Path, version: VersionRef) -> None:
    """Raise WireError when the content of a file is not that of the version."""
    actual = content_digest_of_file(path)
    if actual != version.digest:
        raise WireError(
            f"version {version.number} came with digest {actual}, expected {version.digest}"
        )
