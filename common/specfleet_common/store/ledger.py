"""The append-only record of a lineage's decisions: `<lineage>/ledger/<n>.json`, from 0, no gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from specfleet_common.store.base import Store, StoreError


class LedgerError(StoreError):
    """An entry of the ledger is not one."""


@dataclass(frozen=True, slots=True)
class VersionPublished:
    """A version exists."""

    kind: Literal["version_published"]
    at: float
    number: int
    parent: int | None
    digest: str
    deltas: int
    reason: str


Entry = VersionPublished
_ADAPTER = TypeAdapter(Entry)


class Ledger:
    """One lineage's ledger; entries that have been read are kept, as they never change."""

    def __init__(self, store: Store, lineage_id: str) -> None:
        self._store = store
        self.lineage_id = lineage_id
        self._directory = f"{lineage_id}/ledger"
        self._entries: list[Entry] = []

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        while (data := self._store.read(self._next_path())) is not None:
            try:
                self._entries.append(_ADAPTER.validate_json(bytes(data), strict=True))
            except ValidationError as error:
                raise LedgerError(f"{self._next_path()}: {error}") from error
        return tuple(self._entries)

    def record(self, entry: Entry) -> None:
        """Append an entry unless the ledger says it already; who loses a number takes the next."""
        while not any(_same(entry, known) for known in self.entries()):
            self._store.create(self._next_path(), [_ADAPTER.dump_json(entry)])

    def _next_path(self) -> str:
        return f"{self._directory}/{len(self._entries)}.json"


def _same(left: Entry, right: Entry) -> bool:
    return (left.kind, left.number, left.digest) == (right.kind, right.number, right.digest)
