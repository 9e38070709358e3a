"""The time that work must take on a machine: every operation waits for arithmetic or for memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peaks:
    """What the machine was measured to reach."""

    flops_per_second: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Work:
    """One operation: floating-point operations, and bytes that memory must move for it."""

    name: str
    flops: float
    bytes: float

    def seconds(self, peaks: Peaks) -> float:
        """Return the least time it takes."""
        return max(self.flops / peaks.flops_per_second, self.bytes / peaks.bytes_per_second)


def product(name: str, rows: int, inner: int, columns: int, *, item_bytes: int) -> Work:
    """Return the work of [rows, inner] @ [inner, columns]: each matrix moves once."""
    moved = rows * inner + inner * columns + rows * columns
    return Work(name, 2.0 * rows * inner * columns, float(moved * item_bytes))


def seconds(work: Iterable[Work], peaks: Peaks) -> float:
    """Return the least time that operations take one after the other."""
    return sum(one.seconds(peaks) for one in work)
