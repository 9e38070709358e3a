"""What the processes of a fleet hold: memory that is not of files, file descriptors, threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from e2e.audits.footprint import holding
from specfleet_cli.endpoints import Fleet
from specfleet_common.exchange import REPORT, TrainerReport, read_message

RUN, AGGREGATOR, ENGINE, AGENT, TRAINER = "run", "aggregator", "engine", "agent", "trainer"


@dataclass(frozen=True, slots=True)
class Life:
    """One process from its start to its end; ids are given again within hours."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `members` are also those that it has started and that count with it."""

    name: str
    kind: str
    members: tuple[int, ...]

    @property
    def pid(self) -> int:
        """Return its own id."""
        return self.members[0]


@dataclass(frozen=True, slots=True)
class Held:
    """What a process and its members hold at one moment."""

    memory_bytes: int
    file_descriptors: int
    threads: int


def processes(fleet: Fleet, parents: Mapping[int, int]) -> Iterator[Process]:
    """Return what runs now; a trainer belongs to its agent, but is a process of its own here."""
    yield Process(RUN, RUN, (fleet.pid,))
    if fleet.aggregator.pid is not None:
        yield Process(AGGREGATOR, AGGREGATOR, tree(fleet.aggregator.pid, parents))
    for worker in fleet.workers:
        if worker.engine.pid is not None:
            yield Process(worker.engine.name, ENGINE, tree(worker.engine.pid, parents))
        if worker.agent.pid is None:
            continue
        yield Process(worker.agent.name, AGENT, (worker.agent.pid,))
        trainer = read_message(Path(worker.state_directory) / REPORT, TrainerReport)
        # What is left of an earlier trainer names a process that is gone.
        if trainer is not None and parents.get(trainer.pid) == worker.agent.pid:
            yield Process(f"trainer-{worker.name}", TRAINER, tree(trainer.pid, parents))


def tree(pid: int, parents: Mapping[int, int]) -> tuple[int, ...]:
    """Return a process and all that descend from it."""
    children = sorted(child for child, parent in parents.items() if parent == pid)
    return (pid, *(one for child in children for one in tree(child, parents)))


def parents_of_all() -> dict[int, int]:
    """Return the parent of every process of this machine."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found[int(folder.name)] = int(_stat(folder)[1])
    return found


def life_of(pid: int) -> Life | None:
    """Return what tells a process from later ones with its id; None when it has ended."""
    try:
        # In ticks since the machine's start: field 22 of proc(5).
        return Life(pid, int(_stat(Path(f"/proc/{pid}"))[19]))
    except (FileNotFoundError, ProcessLookupError):
        return None


def held(process: Process) -> Held | None:
    """Look at a process; None when it has just ended."""
    try:
        each = [_held(pid) for pid in process.members]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Held(
        sum(one.memory_bytes for one in each),
        sum(one.file_descriptors for one in each),
        sum(one.threads for one in each),
    )


def _stat(folder: Path) -> list[str]:
    """Return the fields of proc(5) from the third on: state, parent, …"""
    # The name before them may itself have spaces and parentheses.
    return (folder / "stat").read_text().rpartition(") ")[2].split()


def _held(pid: int) -> Held:
    now, threads = holding(pid), list(Path(f"/proc/{pid}/task").iterdir())
    return Held(now.anonymous_bytes, now.file_descriptors, len(threads))
