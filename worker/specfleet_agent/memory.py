"""How much memory the trainer holds, and how much its container may still take.

Counted as the kernel counts before it kills: pages of mapped files are taken back when memory is
short, and so do not count. Reads /proc and the cgroup, version 1 or 2, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
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


_VERSION_2 = _Names(
    "memory.max", "memory.current", ("active_file", "inactive_file", "slab_reclaimable")
)
_VERSION_1 = _Names(
    "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")
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
    """The cgroup of this process's container."""

    def __init__(self, directory: Path, names: _Names) -> None:
        self._directory = directory
        self._names = names

    def left_bytes(self) -> int | None:
        """Return how much may be taken until the kernel kills; None where nothing is limited."""
        try:
            limit = self._read(self._names.limit).strip()
            if limit == "max" or int(limit) >= _UNLIMITED:
                return None
            used = int(self._read(self._names.used))
            stat = _numbers(self._read("memory.stat"))
        except (OSError, ValueError):
            return None
        reclaimable = sum(stat.get(name, 0) for name in self._names.reclaimable)
        return int(limit) - max(used - reclaimable, 0)

    def _read(self, name: str) -> str:
        return (self._directory / name).read_text()


def find_cgroup(mount: Path = CGROUPS, own: Path = OWN_CGROUPS) -> Cgroup | None:
    """Return the cgroup that limits this process's memory; None when it cannot be seen."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    paths = {controllers: path for _, controllers, path in lines}
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
                return Cgroup(directory, names)
    return None


def _numbers(text: str) -> Mapping[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}
