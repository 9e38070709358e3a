"""How much memory the trainer holds, and how much its container may still take.

Counted as the kernel counts before it kills: pages of mapped files are taken back when memory is
short, and so do not count. Reads /proc and the cgroup, version 1 or 2, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")

_UNLIMITED: Final = 1 << 60
"""Version 1 says a number above this where there is no limit."""


@dataclass(frozen=True, slots=True)
class _Names:
    limit: str
    used: str
    reclaimable: tuple[str, ...]
    """Lines of memory.stat."""
    events: str
    """Where the line oom_kill counts processes that the kernel has killed."""


_VERSION_2 = _Names(
    "memory.max",
    "memory.current",
    ("active_file", "inactive_file", "slab_reclaimable"),
    "memory.events",
)
_VERSION_1 = _Names(
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_active_file", "total_inactive_file"),
    "memory.oom_control",
)


def private_bytes(process_id: int) -> int:
    """Return what a process holds in memory that only its end would free, 0 when it is gone."""
    try:
        text = Path(f"/proc/{process_id}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    # A zombie has none of them.
    return sum(
        int(fields[name].split()[0]) << 10 for name in ("RssAnon", "VmPTE") if name in fields
    )


class Cgroup:
    """The cgroup of this process, and those around it, whose limits hold for it too."""

    def __init__(self, directories: Sequence[Path], names: _Names) -> None:
        """`directories` begin with the process's own."""
        self._directories = tuple(directories)
        self._names = names

    def left_bytes(self) -> int | None:
        """Return how much may be taken until the kernel kills; None where nothing is limited."""
        found = [_left_bytes(directory, self._names) for directory in self._directories]
        return min((left for left in found if left is not None), default=None)

    def oom_kills(self) -> int:
        """Return how many processes in it the kernel has killed for memory, 0 if it cannot say."""
        try:
            return _numbers((self._directories[0] / self._names.events).read_text())["oom_kill"]
        except (OSError, ValueError, KeyError):
            return 0


def find_cgroup(mount: Path = CGROUPS, own: Path = OWN_CGROUPS) -> Cgroup | None:
    """Return the cgroup that limits this process's memory; None when it cannot be seen."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    paths = {name: path for _, controllers, path in lines for name in controllers.split(",")}
    places = (
        (mount / "memory", paths.get("memory"), _VERSION_1),
        (mount, paths.get(""), _VERSION_2),
    )
    for root, path, names in places:
        if path is None:
            continue
        # A container sees its own cgroup as the root, or under a path that only its host has.
        for directory in (root / path.lstrip("/"), root):
            if (directory / names.limit).is_file():
                return Cgroup(_up_to(root, directory, names), names)
    return None


def _up_to(root: Path, directory: Path, names: _Names) -> Sequence[Path]:
    """Return a directory and those above it that can limit memory, as far as can be seen."""
    above = [parent for parent in directory.parents if parent.is_relative_to(root)]
    return [directory, *(parent for parent in above if (parent / names.limit).is_file())]


def _left_bytes(directory: Path, names: _Names) -> int | None:
    try:
        limit = (directory / names.limit).read_text().strip()
        if limit == "max" or int(limit) >= _UNLIMITED:
            return None
        used = int((directory / names.used).read_text())
        stat = _numbers((directory / "memory.stat").read_text())
    except (OSError, ValueError):
        return None
    reclaimable = sum(stat.get(name, 0) for name in names.reclaimable)
    return int(limit) - max(used - reclaimable, 0)


def _numbers(text: str) -> Mapping[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}
