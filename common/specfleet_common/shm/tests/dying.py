"""A shared file whose user dies at a chosen store, as a process killed between two instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specfleet_common.shm.files import Data, SharedFile, Words

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Died(Exception):
    """The process that used the file is gone."""


class DyingFile(SharedFile):
    """The same memory as `file`. After `stores_left` more stores the next one raises `Died`.

    A word's store is then not done at all, one of bytes is done by half.
    """

    def __init__(self, file: SharedFile) -> None:
        self.path = file.path
        self.header = file.header
        self.data_bytes = file.data_bytes
        self.words = _DyingWords(file.words, self)
        self.data = _DyingData(file.data, self)
        self.stores_left: int | None = None
        self._file = file

    def dies_now(self) -> bool:
        """Count one store; say whether it is the fatal one."""
        if self.stores_left is None:
            return False
        self.stores_left -= 1
        return self.stores_left < 0

    def read_at(self, offset: int, length: int) -> bytes:
        return self._file.read_at(offset, length)

    def write_at(self, offset: int, data: ReadableBuffer) -> None:
        if self.dies_now():
            half = memoryview(data)[: memoryview(data).nbytes // 2]
            self._file.write_at(offset, half)
            raise Died
        self._file.write_at(offset, data)

    def is_replaced(self) -> bool:
        return self._file.is_replaced()


class _DyingWords:
    def __init__(self, words: Words, file: DyingFile) -> None:
        self._words = words
        self._file = file

    def __getitem__(self, index: int, /) -> int:
        return self._words[index]

    def __setitem__(self, index: int, value: int, /) -> None:
        if self._file.dies_now():
            raise Died
        self._words[index] = value


class _DyingData:
    def __init__(self, data: Data, file: DyingFile) -> None:
        self._data = data
        self._file = file

    def __getitem__(self, index: slice, /) -> memoryview:
        return self._data[index]

    def __setitem__(self, index: slice, value: ReadableBuffer, /) -> None:
        if self._file.dies_now():
            half = memoryview(value)[: memoryview(value).nbytes // 2]
            self._data[index.start : index.start + len(half)] = half
            raise Died
        self._data[index] = value


class InterruptedFile(DyingFile):
    """The same memory as `file`; the other side runs `between` once, after the first read."""

    def __init__(self, file: SharedFile, between: Callable[[], None]) -> None:
        super().__init__(file)
        self._between: Callable[[], None] | None = between

    def read_at(self, offset: int, length: int) -> bytes:
        data = super().read_at(offset, length)
        if self._between is not None:
            between, self._between = self._between, None
            between()
        return data
