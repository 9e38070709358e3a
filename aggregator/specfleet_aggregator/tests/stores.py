"""Stores that fail when a test wants it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from specfleet_common.store.base import StoreError
from specfleet_common.store.directory import DirectoryStore


class FlakyStore:
    """A directory store that fails for paths with `where` in them while `broken` says why."""

    def __init__(self, root: Path) -> None:
        self.broken = ""
        self.where = ""
        self._whole = DirectoryStore(root)

    def read(self, path: str) -> memoryview | None:
        self._check(path)
        return self._whole.read(path)

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        self._check(path)
        return self._whole.create(path, parts)

    def list(self, path: str) -> list[str]:
        self._check(path)
        return self._whole.list(path)

    def _check(self, path: str) -> None:
        if self.broken and self.where in path:
            raise StoreError(self.broken)
