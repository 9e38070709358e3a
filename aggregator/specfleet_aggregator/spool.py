"""Where uploads lie until they are used: files without a name, which die with the process.

Disk and not memory, because a round holds one delta per worker: memory would grow with the fleet.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, cast

from specfleet_common.files import mapped
from specfleet_common.wire.chunks import Assembly
from specfleet_common.wire.v1 import specfleet_pb2 as pb


class Spooled:
    """One upload; close it to free its space."""

    def __init__(self, directory: Path) -> None:
        self.file = cast(BinaryIO, tempfile.TemporaryFile(dir=directory))  # noqa: SIM115

    def data(self) -> memoryview:
        """Return the bytes mapped into memory; the kernel may drop and re-read them."""
        self.file.flush()
        return mapped(self.file)

    def close(self) -> None:
        """Free the space, once no view of the data is left."""
        self.file.close()


@asynccontextmanager
async def receive(
    directory: Path,
    chunks: AsyncIterator[pb.StockChunk] | AsyncIterator[pb.DeltaChunk],
    size_bytes: int,
    limit_bytes: int,
) -> AsyncIterator[Spooled]:
    """Receive one upload; whoever takes it closes it, a failure does so here."""
    upload = Spooled(directory)
    try:
        assembly = Assembly(upload.file, size_bytes=size_bytes, limit_bytes=limit_bytes)
        async for chunk in chunks:
            assembly.add(chunk.data)
        assembly.finish()
        yield upload
    except BaseException:
        upload.close()
        raise
