"""CPU time of a process and everything it has started, from /proc. Linux only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process tree, with that of children that have ended."""
    stats = _stats()
    tree, new = {pid}, {pid}
    while new:
        new = {one for one, fields in stats.items() if int(fields[1]) in new}
        tree |= new
    # utime, stime, cutime, cstime: fields 14 to 17 of proc(5).
    ticks = sum(sum(map(int, stats[one][11:15])) for one in tree)
    return ticks / _TICKS_PER_SECOND


def _stats() -> dict[int, list[str]]:
    """Return, of every process, the fields of proc(5) from the third on: state, parent, …"""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            # The name before it may itself have spaces and parentheses.
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            found[int(folder.name)] = fields
    return found
