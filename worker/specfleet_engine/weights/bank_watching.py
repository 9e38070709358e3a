"""Takes the newest entry of the bank to the exchange; refuses, and counts, what does not fit."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Generic

from safetensors import SafetensorError

from specfleet_common.lineage import LOCAL, STOCK
from specfleet_common.shm.bank import BankEntry, BankReader
from specfleet_common.shm.layout import Layout, ShmAbsent, ShmMismatch
from specfleet_common.shm.names import BANK_FILE
from specfleet_common.tensors import TensorError
from specfleet_engine.layouts import LayoutError
from specfleet_engine.weights.exchanging import Exchange, Ready
from specfleet_engine.weights.swapping import StagedT

log = logging.getLogger("vllm.specfleet")


class BankWatch(Generic[StagedT]):
    """The bank in a directory, looked at again and again. Nothing here waits for an agent."""

    def __init__(self, directory: Path, layout: Layout, exchange: Exchange[StagedT]) -> None:
        self.refused: dict[str, int] = {}
        """How often something in the bank was refused, by what was wrong with it."""
        self._path = directory / BANK_FILE
        self._layout = layout
        self._exchange = exchange
        self._bank: BankReader | None = None
        self._read_sequence = 0
        self._wanted: str | None = None
        """Digest of the bank's newest entry, None when there is none that can be applied."""
        self._refused_bank: int | None = None

    def look(self) -> None:
        """Stage the newest entry of the bank, once, and again when it did not come to be live."""
        if self._bank is None or self._bank.is_replaced():
            self._bank = self._attached()
            self._read_sequence, self._wanted = 0, None
            if self._bank is None:
                return
        sequence = self._bank.sequence()
        if sequence == self._read_sequence and not self._is_astray():
            return
        if self._exchange.is_applying:
            return
        entry = self._bank.read()
        if entry is None:
            if self._bank.sequence() == sequence:
                self._read_sequence, self._wanted = sequence, None
                self._refuse("torn", ValueError(f"entry {sequence} of the bank is damaged"))
            return
        # What is staged next takes the room of what waits.
        if not self._exchange.withdraw():
            return
        self._read_sequence, self._wanted = entry.sequence, entry.digest
        if entry.digest == self._exchange.live.digest and not entry.anew:
            self._exchange.keep(entry.sequence)
            return
        self._stage(entry)

    def _is_astray(self) -> bool:
        """Say whether the newest entry is neither live nor about to be."""
        is_live = self._wanted in (None, self._exchange.live.digest)
        return not is_live and self._exchange.is_settled

    def _attached(self) -> BankReader | None:
        try:
            inode = self._path.stat().st_ino
            if inode == self._refused_bank:
                return None
            bank = BankReader.attach(self._path)
        except (FileNotFoundError, ShmAbsent):
            return None
        except ShmMismatch as error:
            self._refused_bank = inode
            self._refuse("format", error)
            return None
        if bank.layout != self._layout:
            self._refused_bank = inode
            wrong = f"{self._path}: {bank.layout}, expected {self._layout}"
            self._refuse("layout", LayoutError(wrong))
            return None
        return bank

    def _stage(self, entry: BankEntry) -> None:
        live = self._exchange.live
        try:
            staged = live.stage(entry.data, entry.digest)
        except (LayoutError, TensorError, SafetensorError) as error:
            self._wanted = None
            self._refuse("weights", error)
            self._exchange.restore()
            return
        is_stock = entry.digest == live.stock_digest
        name = STOCK if is_stock else LOCAL if entry.label == LOCAL else entry.digest
        self._exchange.offer(Ready(staged, name, entry.sequence))

    def _refuse(self, kind: str, error: Exception) -> None:
        if kind not in self.refused:
            log.error("specfleet refuses the bank: %s", error)
        self.refused[kind] = self.refused.get(kind, 0) + 1
