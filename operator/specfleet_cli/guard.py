"""Cleans up after a run however it ended, even by SIGKILL: a process that is run by path.

The run writes one JSON line per fact to its standard input: process groups that live or are gone,
and directories. When the input ends, the groups are ended and the directories removed. Imports
nothing but the standard library, so that it starts at once and cannot fail later.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

GRACE_SECONDS = 5.0
POLL_SECONDS = 0.05
# What Python's multiprocessing calls the shared memory and semaphores it makes.
SHARED_MEMORY = ("/dev/shm/psm_", "/dev/shm/sem.mp-")


def main(lines: Iterable[str]) -> None:
    """Remember what lives until the input ends, then clean up."""
    groups: set[int] = set()
    directories: list[str] = []
    for line in lines:
        fact = json.loads(line)
        if "lives" in fact:
            groups.add(fact["lives"])
        elif "gone" in fact:
            groups.discard(fact["gone"])
        else:
            directories.append(fact["directory"])
    end_groups(groups)
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def end_groups(groups: set[int]) -> None:
    """Ask the groups to end, and kill what is left after the grace."""
    deadline = time.monotonic() + GRACE_SECONDS
    living = {group for group in groups if _signal(group, signal.SIGTERM)}
    while living and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        living = {group for group in living if _signal(group, 0)}
    for group in living:
        left = shared_memory_of(group)
        _signal(group, signal.SIGKILL)
        remove(left)


def shared_memory_of(group: int) -> set[Path]:
    """Return the shared memory that processes of a group have, before they are killed.

    A Python process removes its own when it ends, unless it is killed.
    """
    maps = (_read(folder / "maps") for folder in _processes() if _group_of(folder) == group)
    words = (line.split()[-1] for text in maps for line in text.splitlines())
    return {Path(word) for word in words if word.startswith(SHARED_MEMORY)}


def remove(files: Iterable[Path]) -> None:
    """Remove what killed processes have left."""
    for file in files:
        file.unlink(missing_ok=True)


def _processes() -> Iterator[Path]:
    return (folder for folder in Path("/proc").iterdir() if folder.name.isdigit())


def _group_of(folder: Path) -> int | None:
    stat = _read(folder / "stat")
    # The name before the last parenthesis may contain anything.
    return int(stat.rpartition(")")[2].split()[2]) if stat else None


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def _signal(group: int, number: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    # The terminal's Ctrl-C is for the run; this process ends when the run has.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    main(sys.stdin)
