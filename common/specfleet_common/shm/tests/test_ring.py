"""Records come out as they went in, whoever dies at whatever store."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from specfleet_common.shm.files import create_file, open_file
from specfleet_common.shm.layout import RING, ShmMismatch
from specfleet_common.shm.ring import (
    HEAD,
    TAIL,
    Record,
    RingCorrupt,
    RingReader,
    RingWriter,
    record_bytes,
)
from specfleet_common.shm.tests.building import layout
from specfleet_common.shm.tests.dying import Died, DyingFile


def test_parts_of_any_shape_and_type_become_one_payload(tmp_path: Path) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 4096)
    reader = RingReader.attach(tmp_path / "ring")
    numbers = np.arange(6, dtype=np.uint16).reshape(2, 3)

    written = writer.write(5, [b"ab", b"", numbers.data, np.empty((0, 3)).data, memoryview(b"c")])

    assert written
    assert reader.read() == Record(5, b"ab" + numbers.tobytes() + b"c")


def test_a_full_ring_refuses_counts_and_writes_nothing(tmp_path: Path) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 2 * record_bytes(32))
    reader = RingReader.attach(tmp_path / "ring")

    written = [writer.write(1, [bytes([number]) * 32]) for number in range(3)]

    assert written == [True, True, False]
    assert writer.dropped == 1
    assert [reader.read(), reader.read(), reader.read()] == [
        Record(1, bytes(32)),
        Record(1, b"\1" * 32),
        None,
    ]


def test_a_record_larger_than_the_ring_is_a_drop(tmp_path: Path) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 128)

    assert not writer.write(1, [bytes(128)])
    assert writer.dropped == 1


def test_a_reader_of_another_layout_is_refused(tmp_path: Path) -> None:
    RingWriter.create(tmp_path / "ring", layout(hidden_size=8), 128)

    with pytest.raises(ShmMismatch, match="hidden_size is 8, expected 4"):
        RingReader.attach(tmp_path / "ring", layout())


def test_the_rest_of_a_replaced_ring_can_still_be_read(tmp_path: Path) -> None:
    old_writer = RingWriter.create(tmp_path / "ring", layout(), 128)
    old_writer.write(1, [b"last words"])
    reader = RingReader.attach(tmp_path / "ring")

    new_writer = RingWriter.create(tmp_path / "ring", layout(), 128)

    assert reader.is_replaced()
    assert reader.read() == Record(1, b"last words")
    assert RingReader.attach(tmp_path / "ring").incarnation == new_writer.incarnation


@pytest.mark.parametrize(
    ("position", "damage"),
    [
        pytest.param(0, b"\xff", id="magic"),
        pytest.param(4, b"\xff", id="kind"),
        pytest.param(8, b"\xff\xff\xff", id="length"),
        pytest.param(16, b"\1", id="record-of-another-lap"),
    ],
)
def test_damage_is_detected_and_skipped_to_the_newest_end(
    tmp_path: Path, position: int, damage: bytes
) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 4096)
    reader = RingReader.attach(tmp_path / "ring")
    memory = open_file(tmp_path / "ring", RING, None, writable=True)
    writer.write(1, [b"damaged"])
    writer.write(1, [b"lost with it"])
    memory.data[position : position + len(damage)] = damage

    with pytest.raises(RingCorrupt, match="is no record"):
        reader.read()
    writer.write(1, [b"after"])

    assert reader.read() == Record(1, b"after")
    assert reader.corruptions == 1


@pytest.mark.parametrize("word", [pytest.param(HEAD, id="head"), pytest.param(TAIL, id="tail")])
@pytest.mark.parametrize("value", [3, 32, 2**40, 2**64 - 1])
def test_a_damaged_position_heals(tmp_path: Path, word: int, value: int) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 4096)
    reader = RingReader.attach(tmp_path / "ring")
    memory = open_file(tmp_path / "ring", RING, None, writable=True)
    for _ in range(3):
        writer.write(1, [b"before"])
    memory.words[word] = value

    for number in range(4):
        _read_all(reader)
        writer.write(1, [b"after %d" % number])

    assert _read_all(reader)[-1] == Record(1, b"after 3")
    assert reader.lag_bytes == 0
    assert reader.corruptions >= 1


@pytest.mark.parametrize(
    ("word", "value", "what"),
    [
        pytest.param(HEAD, 192, "record of position 0 .* at 128", id="record-of-the-lap-before"),
        pytest.param(TAIL, 125, "head 128 and tail 125 are not of a ring", id="between-records"),
    ],
)
def test_a_position_that_is_only_nearly_right_is_detected(
    tmp_path: Path, word: int, value: int, what: str
) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 128)
    reader = RingReader.attach(tmp_path / "ring")
    memory = open_file(tmp_path / "ring", RING, None, writable=True)
    for _ in range(2):
        writer.write(1, [bytes(32)])
        reader.read()
    memory.words[word] = value

    with pytest.raises(RingCorrupt, match=what):
        reader.read()


def test_a_damaged_read_position_never_lets_the_writer_overwrite(tmp_path: Path) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 128)
    memory = open_file(tmp_path / "ring", RING, None, writable=True)
    memory.words[TAIL] = 2**40

    assert not writer.write(1, [bytes(256)])
    assert writer.dropped == 1


@given(st.lists(st.integers(0, 5 * 32), min_size=1), st.integers(6, 9))
def test_a_record_may_lie_across_the_end_of_the_ring(sizes: list[int], units: int) -> None:
    payloads = [bytes([1 + number]) * size for number, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as directory:
        writer = RingWriter.create(Path(directory) / "ring", layout(), units * 32)
        reader = RingReader.attach(Path(directory) / "ring")

        for payload in payloads:
            assert writer.write(1, [payload[:7], payload[7:]])
            assert reader.read() == Record(1, payload)


def _read_all(reader: RingReader) -> list[Record]:
    records: list[Record] = []
    while True:
        try:
            record = reader.read()
        except RingCorrupt:
            continue
        if record is None:
            return records
        records.append(record)


class RingMachine(RuleBasedStateMachine):
    """A ring beside a queue: what the queue holds is what the reader will get."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "ring"
        self.queue: deque[Record] = deque()
        self.num_parts = 0

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    @initialize(units=st.integers(1, 12))
    def start(self, units: int) -> None:
        self.capacity = units * 32
        self.engine_starts()
        self.trainer_starts()

    def engine_starts(self) -> None:
        self.writer_file = DyingFile(
            create_file(self.path, RING, layout(), data_bytes=self.capacity)
        )
        self.writer = RingWriter(self.writer_file)

    def trainer_starts(self) -> None:
        self.reader_file = DyingFile(open_file(self.path, RING, layout(), writable=True))
        self.reader = RingReader(self.reader_file)

    def used(self) -> int:
        return sum(record_bytes(len(record.payload)) for record in self.queue)

    def parts(self, sizes: list[int]) -> list[bytes]:
        """Return parts of these sizes, each of a content that was not there before."""
        self.num_parts += len(sizes)
        return [bytes([self.num_parts % 255 + 1]) * size for size in sizes]

    @rule(kind=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 90), max_size=3))
    def write(self, kind: int, sizes: list[int]) -> None:
        parts = self.parts(sizes)
        payload = b"".join(parts)
        fits = self.used() + record_bytes(len(payload)) <= self.capacity

        assert self.writer.write(kind, parts) == fits

        if fits:
            self.queue.append(Record(kind, payload))

    @rule()
    def read(self) -> None:
        expected = self.queue.popleft() if self.queue else None

        assert self.reader.read() == expected

    @rule()
    def trainer_restarts(self) -> None:
        self.trainer_starts()

    @rule()
    def trainer_dies_before_it_consumes(self) -> None:
        self.reader_file.stores_left = 0
        if self.queue:
            with pytest.raises(Died):
                self.reader.read()
        self.trainer_starts()

    @rule()
    def trainer_dies_after_it_consumed(self) -> None:
        self.reader.read()
        if self.queue:
            self.queue.popleft()
        self.trainer_starts()

    @rule(sizes=st.lists(st.integers(1, 60), max_size=3), stores=st.integers(0, 7))
    def engine_dies_while_writing(self, sizes: list[int], stores: int) -> None:
        parts = self.parts(sizes)
        self.writer_file.stores_left = stores
        try:
            if self.writer.write(9, parts):
                self.queue.append(Record(9, b"".join(parts)))
        except Died:
            pass
        while self.queue:
            assert self.reader.read() == self.queue.popleft()
        assert self.reader.read() is None
        assert not self.reader.is_replaced()

        self.engine_starts()
        assert self.reader.is_replaced()
        self.trainer_starts()

    @invariant()
    def nothing_is_corrupt(self) -> None:
        if hasattr(self, "reader"):
            assert self.reader.lag_bytes == self.used()
            assert self.reader.corruptions == 0


RingMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestRingMachine = RingMachine.TestCase
