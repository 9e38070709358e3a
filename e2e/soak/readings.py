"""What is read of a running fleet again and again, as series. Collects; judges nothing."""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from e2e.soak.growth import Point
from e2e.soak.processes import Life, held, life_of, parents_of_all, processes, tree
from specfleet_cli.endpoints import FILE_NAME, EndpointsError, Fleet, read_fleet

MEMORY, DESCRIPTORS, THREADS = "memory", "file descriptors", "threads"
SHARED, SHARED_FILES, STATE = "shared memory", "files in shared memory", "agents' volumes"
PROCESSES = "processes"
FLEET = "fleet"
"""The name of what all processes hold together."""

Lives = dict[Life, list[Point]]
"""Readings by the life that they are of."""
ALL = Life(0, 0)
"""Stands for what all processes hold together."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A value that was just read."""

    quantity: str
    kind: str
    name: str
    life: Life
    value: float


@dataclass(slots=True)
class Readings:
    """Series by quantity, kind and name of process, and life."""

    began: float
    lives: dict[str, dict[str, dict[str, Lives]]] = field(default_factory=dict)

    @property
    def seen(self) -> set[Life]:
        """Return all processes that were ever seen."""
        kinds = [names for kinds in self.lives.values() for names in kinds.values()]
        return {life for names in kinds for lives in names.values() for life in lives} - {ALL}

    def take(self, samples: Iterable[Sample], *, now: float) -> None:
        """Add what was read at one time."""
        for one in samples:
            names = self.lives.setdefault(one.quantity, {}).setdefault(one.kind, {})
            life = names.setdefault(one.name, {}).setdefault(one.life, [])
            life.append(Point(now - self.began, one.value))

    def last(self, quantity: str) -> dict[str, dict[str, float]]:
        """Return the newest value of every process, by kind and name."""
        return {
            kind: {
                name: max((life[-1] for life in lives.values()), key=lambda one: one.seconds).value
                for name, lives in names.items()
            }
            for kind, names in self.lives.get(quantity, {}).items()
        }


async def keep_reading(out: Path, readings: Readings, *, every_seconds: float) -> None:
    """Read until the run has ended."""
    while True:
        try:
            fleet = read_fleet(out / FILE_NAME)
        except EndpointsError:
            return
        now = time.monotonic()
        readings.take(await asyncio.to_thread(read, fleet), now=now)
        await asyncio.sleep(every_seconds)


def read(fleet: Fleet) -> list[Sample]:
    """Read everything once."""
    parents = parents_of_all()
    return [*_of_processes(fleet, parents), *_of_all(fleet, parents)]


def _of_processes(fleet: Fleet, parents: Mapping[int, int]) -> Iterator[Sample]:
    for process in processes(fleet, parents):
        life, found = life_of(process.pid), held(process)
        if life is None or found is None:
            continue
        for quantity, value in (
            (MEMORY, found.memory_bytes / 2**20),
            (DESCRIPTORS, found.file_descriptors),
            (THREADS, found.threads),
        ):
            yield Sample(quantity, process.kind, process.name, life, value)


def _of_all(fleet: Fleet, parents: Mapping[int, int]) -> Iterator[Sample]:
    shared = [_sizes(Path(worker.shm_directory)) for worker in fleet.workers]
    volumes = [_sizes(Path(worker.state_directory)) for worker in fleet.workers]
    for quantity, value in (
        (SHARED, sum(map(sum, shared)) / 2**20),
        (SHARED_FILES, sum(map(len, shared))),
        (STATE, sum(map(sum, volumes)) / 2**20),
        (PROCESSES, len(tree(fleet.pid, parents))),
    ):
        yield Sample(quantity, FLEET, FLEET, ALL, value)


def _sizes(folder: Path) -> list[int]:
    """Return the bytes that each file below a folder takes; files come and go meanwhile."""
    sizes = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                sizes.append(512 * status.st_blocks)
    return sizes
