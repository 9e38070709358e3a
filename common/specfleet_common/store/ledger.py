"""The append-only record of a lineage's decisions: `<lineage>/ledger/<n>.json`, from 0, no gaps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pydantic import TypeAdapter, ValidationError

from specfleet_common.mistakes import summary
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.entries import Entry, VersionPublished
from specfleet_common.store.sealing import SealError, check_seal, sealed

_ADAPTER: TypeAdapter[Entry] = TypeAdapter(Entry)
_READ_AT_ONCE = 16


class LedgerError(StoreError):
    """An entry of the ledger is not one."""


class Ledger:
    """One lineage's ledger; entries that have been read are kept, as they never change."""

    def __init__(self, store: Store, lineage_id: str) -> None:
        self._store = store
        self.lineage_id = lineage_id
        self._directory = f"{lineage_id}/ledger"
        self._entries: list[Entry] = []

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        wanted = 1
        while self._read(wanted):
            # Whoever starts on an old fleet reads thousands, each a journey to the store.
            wanted = min(2 * wanted, _READ_AT_ONCE)
        return tuple(self._entries)

    def record(self, entry: VersionPublished) -> None:
        """Append that a version exists unless the ledger says it already.

        Who loses a number takes the next: a version exists whatever else was decided meanwhile.
        """
        while not any(_same(entry, known) for known in self.entries()):
            self._write(len(self._entries), entry)

    def append_at(self, length: int, entry: Entry) -> bool:
        """Append a decision made when there were `length` entries.

        False, and nothing written, when there are more by now: it has to be made anew.
        """
        return len(self.entries()) == length and self._write(length, entry)

    def _write(self, number: int, entry: Entry) -> bool:
        return self._store.create(self._path(number), [sealed(_ADAPTER.dump_json(entry))])

    def _read(self, wanted: int) -> bool:
        """Read so many more entries; False when there are not that many."""
        first = len(self._entries)
        paths = [self._path(number) for number in range(first, first + wanted)]
        with ThreadPoolExecutor(wanted) as threads:
            for path, data in zip(paths, threads.map(self._store.read, paths), strict=True):
                if data is None:
                    return False
                self._entries.append(_decode(path, data))
        return True

    def _path(self, number: int) -> str:
        return f"{self._directory}/{number}.json"


def _decode(path: str, data: memoryview) -> Entry:
    try:
        entry = _ADAPTER.validate_json(bytes(data), strict=True)
        check_seal(bytes(data))
    except ValidationError as error:
        raise LedgerError(f"{path}: {summary(error)}") from error
    except SealError as error:
        raise LedgerError(f"{path}: {error}") from error
    return entry


def _same(entry: VersionPublished, known: Entry) -> bool:
    return isinstance(known, VersionPublished) and (entry.number, entry.digest) == (
        known.number,
        known.digest,
    )
