"""Two real processes, one of which is killed at random moments: nothing is torn or repeated."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from specfleet_common.shm.bank import BankReader, BankWriter
from specfleet_common.shm.pages import PageReader, PageWriter
from specfleet_common.shm.ring import RingReader, RingWriter
from specfleet_common.shm.tests import child
from specfleet_common.shm.tests.building import layout

KILLS = 4
DEADLINE_SECONDS = 60.0


@contextmanager
def running(role: Callable[[Path], None], path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `role` in another process; it must still live when it is killed at the end."""
    command = [sys.executable, "-m", child.__name__, role.__name__, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)
            status = process.wait()
    assert status == -signal.SIGKILL, "the child ended before it was killed"


def until(done: Callable[[], bool]) -> None:
    """Repeat `done` until it holds."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline, f"not done within {DEADLINE_SECONDS} s"
        os.sched_yield()


def test_a_ring_whose_writer_is_killed_holds_whole_records_only(tmp_path: Path) -> None:
    path = tmp_path / "capture.ring"
    chance = random.Random(1)
    RingWriter.create(path, layout(), 64)
    for _ in range(KILLS):
        wanted = chance.randrange(1, 800)
        stale = RingReader.attach(path)

        with running(child.write_ring, path):
            until(stale.is_replaced)
            reader = RingReader.attach(path)
            numbers = [_next_number(reader) for _ in range(wanted)]
        while reader.lag_bytes:
            numbers.append(_next_number(reader))

        assert numbers == list(range(len(numbers)))
        assert reader.corruptions == 0


def _next_number(reader: RingReader) -> int:
    until(lambda: reader.lag_bytes > 0)
    record = reader.read()
    assert record is not None
    return child.number_of(record.payload)


def test_records_outlive_their_readers_and_none_is_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "capture.ring"
    chance = random.Random(2)
    writer = RingWriter.create(path, layout(), child.CAPACITY_BYTES)
    written = 0
    lives: list[list[int]] = []
    for _ in range(KILLS):
        wanted = chance.randrange(1, 800)

        with running(child.read_ring, path) as process:
            assert process.stdout is not None
            os.set_blocking(process.stdout.fileno(), False)
            report = bytearray()
            deadline = time.monotonic() + DEADLINE_SECONDS
            while len(report) < 8 * wanted:
                assert time.monotonic() < deadline, f"{len(report) // 8} of {wanted} read"
                written += writer.write(1, [child.numbered(written)])
                report += process.stdout.read(65536) or b""
            process.kill()
            process.wait()
            os.set_blocking(process.stdout.fileno(), True)
            report += process.stdout.read() or b""
        lives.append(list(memoryview(report).cast("Q")))

    assert lives[0][0] == 0
    for life in lives:
        assert life == list(range(life[0], life[0] + len(life)))
    for before, after in pairwise(lives):
        assert after[0] - before[-1] in (1, 2), "at most the record in the dead reader's hands"


def test_a_killed_creator_leaves_a_whole_ring_or_none(tmp_path: Path) -> None:
    path = tmp_path / "capture.ring"
    chance = random.Random(3)
    for _ in range(KILLS):
        wanted = chance.randrange(1, 300)
        with running(child.create_rings, path):
            until(path.exists)
            for _ in range(wanted):
                RingReader.attach(path, layout())

        assert RingReader.attach(path, layout()).read() is None

    RingWriter.create(path, layout(), 64)
    assert [file.name for file in tmp_path.iterdir()] == ["capture.ring"]


def test_a_bank_whose_writer_is_killed_holds_whole_weights(tmp_path: Path) -> None:
    path = tmp_path / "weights.bank"
    chance = random.Random(4)
    BankWriter.create(path, layout(), 100_000)
    reader = BankReader.attach(path)
    newest = 0
    for _ in range(KILLS):
        wanted = newest + chance.randrange(1, 300)
        with running(child.write_bank, path):
            deadline = time.monotonic() + DEADLINE_SECONDS
            while newest < wanted:
                assert time.monotonic() < deadline, f"sequence is {newest}, expected {wanted}"
                entry = reader.read()
                if entry is not None:
                    assert entry.digest == hashlib.sha256(entry.data).hexdigest()
                    assert entry.sequence >= newest
                    newest = entry.sequence

        entry = reader.read()
        assert entry is not None, "no writer is left to overtake the reader"
        assert entry.digest == hashlib.sha256(entry.data).hexdigest()
        assert entry.sequence == reader.sequence() >= newest
        newest = entry.sequence


def test_a_page_whose_writer_is_killed_keeps_its_last_content(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.page"
    chance = random.Random(5)
    PageWriter.create(path)
    for _ in range(KILLS):
        wanted = chance.randrange(1, 300)
        stale = PageReader.attach(path)
        with running(child.write_page, path):
            until(stale.is_replaced)
            reader = PageReader.attach(path)
            _read_until(reader, wanted)

        content = reader.read()
        assert content is not None, "no writer is left to overtake the reader"
        assert content["text"] == child.numbered(content["number"]).hex()
        assert content["number"] >= wanted


def _read_until(reader: PageReader, wanted: int) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    number = 0
    while number < wanted:
        assert time.monotonic() < deadline, f"number is {number}, expected {wanted}"
        content = reader.read()
        if content is not None:
            assert content["text"] == child.numbered(content["number"]).hex()
            assert content["number"] >= number
            number = content["number"]
