"""What another process holds, over time: memory that is not of files, and file descriptors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.bench.memory import Peak

SAMPLE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Holding:
    """What a process holds at one moment."""

    anonymous_bytes: int
    file_descriptors: int


def holding(pid: int) -> Holding:
    """Look at a process."""
    now, folder = Peak(), Path(f"/proc/{pid}")
    now.take((folder / "status").read_text(encoding="utf-8"))
    return Holding(now.anonymous_bytes, len(list((folder / "fd").iterdir())))


def most(holdings: list[Holding]) -> Holding:
    """Return the most of each."""
    return Holding(
        max(one.anonymous_bytes for one in holdings),
        max(one.file_descriptors for one in holdings),
    )


@asynccontextmanager
async def followed(pid: int) -> AsyncIterator[list[Holding]]:
    """Look at a process again and again for the time of a `with` block."""
    seen = [holding(pid)]

    async def look() -> None:
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            seen.append(holding(pid))

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
