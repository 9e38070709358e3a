"""What versions and decisions need of a store: whole entries, created once, never changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class StoreError(Exception):
    """The store did not do what was asked; the same call may succeed later."""


class Store(Protocol):
    """Entries have paths like `a/b/c.json`. An entry that can be read is complete."""

    def read(self, path: str) -> memoryview | None:
        """Return an entry's bytes, None when there is no such entry."""

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        """Write an entry durably; False, and nothing written, when there is one already."""

    def list(self, path: str) -> list[str]:
        """Return the sorted names directly below a path; empty when there is nothing."""


def names_of(path: str) -> tuple[str, ...]:
    """Return the names in a path, none for the root; ValueError when it could lead elsewhere."""
    names = tuple(path.split("/")) if path else ()
    if any(not name or name.startswith(".") for name in names):
        raise ValueError(f"path is {path!r}, expected names without leading dots between '/'")
    return names
