"""The other process of the tests that kill one: `python -m specfleet_common.shm.tests.child`.

It plays one role on one path for ever. A reader says on its standard output what it has read.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from pathlib import Path

from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.pages import PageWriter
from specfleet_common.shm.ring import RingReader, RingWriter
from specfleet_common.shm.tests.building import layout

CAPACITY_BYTES = 16384


def numbered(number: int) -> bytes:
    """Return a payload of a size and content that only this number has."""
    return number.to_bytes(8, "little") + bytes([number % 251]) * (number * 7919 % 3000)


def number_of(payload: bytes) -> int:
    """Undo `numbered`; a torn payload fails."""
    number = int.from_bytes(payload[:8], "little")
    assert payload == numbered(number), f"record {number} is torn"
    return number


def write_ring(path: Path) -> None:
    """Play the engine: a new ring, then numbers from 0 on."""
    writer = RingWriter.create(path, layout(), CAPACITY_BYTES)
    for number in itertools.count():
        while not writer.write(1, [numbered(number)]):
            os.sched_yield()


def read_ring(path: Path) -> None:
    """Play the trainer: go on where the last one stopped, report every number."""
    reader = RingReader.attach(path)
    while True:
        record = reader.read()
        if record is None:
            os.sched_yield()
        else:
            os.write(sys.stdout.fileno(), number_of(record.payload).to_bytes(8, "little"))


def create_rings(path: Path) -> None:
    """Play an engine that restarts again and again."""
    while True:
        RingWriter.create(path, layout(), CAPACITY_BYTES)


def write_bank(path: Path) -> None:
    """Play the agent: go on with the bank, publish as fast as possible."""
    writer = BankWriter.attach(path, layout())
    for number in itertools.count():
        data = numbered(number) * 20
        writer.publish([data], hashlib.sha256(data).hexdigest(), "version")


def write_page(path: Path) -> None:
    """Play the engine: a new page, then numbers from 0 on."""
    writer = PageWriter.create(path)
    for number in itertools.count():
        writer.write({"number": number, "text": numbered(number).hex()})


if __name__ == "__main__":
    roles = (write_ring, read_ring, create_rings, write_bank, write_page)
    {role.__name__: role for role in roles}[sys.argv[1]](Path(sys.argv[2]))
