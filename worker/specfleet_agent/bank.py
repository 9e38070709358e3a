"""The bank as the agent keeps it: opened or made for the engine of now, filled from checked files.

What it should hold is decided in `delivery`.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import structlog

from specfleet_agent.engine_page import EnginePage
from specfleet_common.shm.bank import BankReader, BankWriter
from specfleet_common.shm.layout import Layout, ShmAbsent, ShmMismatch
from specfleet_common.shm.names import BANK_FILE
from specfleet_common.tensors import content_digest_of_open_file

log = structlog.get_logger()

BLOCK_BYTES = 1 << 20
SPARE_BYTES = 64 << 10
"""Headers of safetensors files with the same tensors differ in length by their writer."""


class BankError(ValueError):
    """These weights cannot be put into the bank now; the message says why."""


class Bank:
    """The engine's bank; only the agent writes it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / BANK_FILE
        self._published: tuple[int, int, str] | None = None
        """Incarnation, sequence and digest of what this process put in last."""

    def digest(self, page: EnginePage) -> str | None:
        """Return the digest of the newest entry, None while there is none.

        Of an entry that an earlier agent made, only the engine that applied it knows the digest;
        it is empty while that engine has not done so.
        """
        try:
            bank = BankReader.attach(self._path)
        except (ShmAbsent, ShmMismatch):
            return None
        sequence = bank.sequence()
        if sequence == 0 or bank.layout != page.layout:
            return None
        if self._published is not None and self._published[:2] == (bank.incarnation, sequence):
            return self._published[2]
        return page.observed_digest if page.bank_sequence == sequence else ""

    def publish(self, page: EnginePage, source: Path, *, digest: str, label: str) -> None:
        """Put a safetensors file into the bank, after making sure that it is what it should be."""
        # One open file for both: the trainer may put another in its place meanwhile.
        with source.open("rb") as file:
            actual = content_digest_of_open_file(file)
            if actual != digest:
                raise BankError(f"{source}: its digest is {actual}, expected {digest}")
            bank = self._open(page.layout, os.fstat(file.fileno()).st_size)
            file.seek(0)
            sequence = bank.publish(iter(partial(file.read, BLOCK_BYTES), b""), digest, label)
        self._published = (bank.incarnation, sequence, digest)

    def _open(self, layout: Layout, size: int) -> BankWriter:
        """Go on with the bank that is there if it fits, else replace it."""
        try:
            bank = BankWriter.attach(self._path, layout)
        except ShmAbsent:
            return self._create(layout, size, "there is none")
        except ShmMismatch as error:
            return self._create(layout, size, str(error))
        if bank.slot_bytes < size:
            return self._create(layout, size, f"{bank.slot_bytes} bytes per slot are too few")
        return bank

    def _create(self, layout: Layout, size: int, reason: str) -> BankWriter:
        log.info("bank_created", slot_bytes=size + SPARE_BYTES, reason=reason)
        return BankWriter.create(self._path, layout, size + SPARE_BYTES)
