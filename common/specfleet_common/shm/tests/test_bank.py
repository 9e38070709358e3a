"""The newest sealed weights are always whole, whoever dies or overtakes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from specfleet_common.shm.bank import LABELS, BankEntry, BankReader, BankWriter
from specfleet_common.shm.files import DATA_OFFSET, open_file
from specfleet_common.shm.layout import BANK, ShmAbsent, ShmMismatch
from specfleet_common.shm.slots import NOTE_BYTES
from specfleet_common.shm.tests.building import layout
from specfleet_common.shm.tests.dying import Died, DyingFile, InterruptedFile

STORES_OF_ONE_PUBLISH = 8


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_an_empty_bank_has_no_entry(tmp_path: Path) -> None:
    BankWriter.create(tmp_path / "bank", layout(), 64)
    reader = BankReader.attach(tmp_path / "bank")

    assert (reader.sequence(), reader.read(), reader.torn) == (0, None, 0)


def test_the_newest_entry_is_read_again_and_again(tmp_path: Path) -> None:
    writer = BankWriter.create(tmp_path / "bank", layout(), 64)
    reader = BankReader.attach(tmp_path / "bank", layout())
    writer.publish([b"old"], "d1", "stock")
    writer.publish([b"newer"], "d2", "local")

    first, second = reader.read(), reader.read()

    assert first == second == BankEntry(2, "d2", "local", b"newer")
    assert reader.sequence() == 2


def test_a_restarted_writer_continues_the_sequence(tmp_path: Path) -> None:
    BankWriter.create(tmp_path / "bank", layout(), 64).publish([b"one"], "d1", "stock")

    sequence = BankWriter.attach(tmp_path / "bank", layout()).publish([b"two"], "d2", "version")

    assert sequence == 2
    assert BankReader.attach(tmp_path / "bank").read() == BankEntry(2, "d2", "version", b"two")


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_blocks_in_a_row_are_one_entry(blocks: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bank"
        BankWriter.create(path, layout(), 120).publish(blocks, "d", "stock")

        entry = BankReader.attach(path).read()

        assert entry == BankEntry(1, "d", "stock", b"".join(blocks))


@pytest.mark.parametrize("blocks", [[bytes(65)], [bytes(40), bytes(25)]])
def test_weights_too_large_are_refused_and_change_nothing(
    tmp_path: Path, blocks: list[bytes]
) -> None:
    writer = BankWriter.create(tmp_path / "bank", layout(), 64)
    writer.publish([b"kept"], "d", "stock")

    with pytest.raises(ValueError, match=r"65 bytes or more, expected at most 256 \+ 64"):
        writer.publish(blocks, "d", "stock")

    assert BankReader.attach(tmp_path / "bank").read() == BankEntry(1, "d", "stock", b"kept")


def test_an_unknown_label_is_refused(tmp_path: Path) -> None:
    writer = BankWriter.create(tmp_path / "bank", layout(), 64)

    with pytest.raises(ValueError, match="label is 'stable'"):
        writer.publish([b""], "d", "stable")


def test_attaching_before_creation_says_that_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(ShmAbsent, match="no weight bank yet"):
        BankReader.attach(tmp_path / "bank")
    with pytest.raises(ShmAbsent, match="no weight bank yet"):
        BankWriter.attach(tmp_path / "bank")


def test_a_bank_of_another_lineage_is_refused(tmp_path: Path) -> None:
    BankWriter.create(tmp_path / "bank", layout(lineage_id="other"), 64)

    with pytest.raises(ShmMismatch, match="lineage_id is 'other'"):
        BankReader.attach(tmp_path / "bank", layout())


def test_a_new_bank_replaces_the_old_one(tmp_path: Path) -> None:
    BankWriter.create(tmp_path / "bank", layout(), 64)
    reader = BankReader.attach(tmp_path / "bank")

    BankWriter.create(tmp_path / "bank", layout(), 128)

    assert reader.is_replaced()


def test_damaged_weights_are_refused_and_counted(tmp_path: Path) -> None:
    writer = BankWriter.create(tmp_path / "bank", layout(), 64)
    reader = BankReader.attach(tmp_path / "bank")
    writer.publish([b"weights"], "d", "stock")
    memory = open_file(tmp_path / "bank", BANK, None, writable=True)
    memory.write_at(2 * NOTE_BYTES + 64 + 3, b"\0")

    assert reader.read() is None
    assert reader.torn == 1


def test_a_bank_cut_under_the_reader_is_refused_and_counted(tmp_path: Path) -> None:
    writer = BankWriter.create(tmp_path / "bank", layout(), 64)
    reader = BankReader.attach(tmp_path / "bank")
    writer.publish([b"weights"], "d", "stock")
    os.truncate(tmp_path / "bank", DATA_OFFSET)

    assert reader.read() is None
    assert reader.torn == 1


@given(before=st.integers(1, 3), stores=st.integers(0, 4 * STORES_OF_ONE_PUBLISH))
def test_a_read_that_a_writer_interrupts_at_any_store_is_whole_or_nothing(
    before: int, stores: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bank"
        BankWriter.create(path, layout(), 64)
        writer_file = DyingFile(open_file(path, BANK, None, writable=True))
        writer = BankWriter(writer_file)
        published = [_publish(writer, number) for number in range(1, before + 1)]

        def write_on() -> None:
            writer_file.stores_left = stores
            with suppress(Died):
                for number in range(10, 20):
                    _publish(writer, number)

        file = InterruptedFile(open_file(path, BANK, None, writable=False), write_on)
        reader = BankReader(file)

        entry = reader.read()

        untouched = stores <= STORES_OF_ONE_PUBLISH
        assert entry == published[-1] if untouched else entry is None
        assert reader.torn == (0 if untouched else 1)
        assert reader.read() is not None


def _publish(writer: BankWriter, number: int) -> BankEntry:
    data = bytes([number]) * (40 + number)
    return BankEntry(writer.publish([data], digest(data), "local"), digest(data), "local", data)


class BankMachine(RuleBasedStateMachine):
    """A bank beside one variable: the newest entry whose writer lived to seal it."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "bank"
        self.newest: BankEntry | None = None

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    @initialize()
    def start(self) -> None:
        BankWriter.create(self.path, layout(), 100)
        self.reader = BankReader.attach(self.path)
        self.agent_restarts()

    @rule()
    def agent_restarts(self) -> None:
        self.file = DyingFile(open_file(self.path, BANK, layout(), writable=True))
        self.writer = BankWriter(self.file)

    @rule()
    def engine_restarts(self) -> None:
        self.reader = BankReader.attach(self.path)

    @rule(data=st.binary(max_size=100), label=st.sampled_from(LABELS))
    def publish(self, data: bytes, label: str) -> None:
        sequence = self.writer.publish([data], digest(data), label)

        assert sequence == (self.newest.sequence if self.newest else 0) + 1
        self.newest = BankEntry(sequence, digest(data), label, data)

    @rule(data=st.binary(max_size=100), stores=st.integers(0, STORES_OF_ONE_PUBLISH - 1))
    def agent_dies_while_publishing(self, data: bytes, stores: int) -> None:
        self.file.stores_left = stores
        with pytest.raises(Died):
            self.writer.publish([data], digest(data), "version")
        self.agent_restarts()

    @rule(data=st.binary(max_size=100))
    def agent_dies_after_publishing(self, data: bytes) -> None:
        self.publish(data, "version")
        self.agent_restarts()

    @invariant()
    def the_newest_sealed_entry_is_whole(self) -> None:
        if hasattr(self, "reader"):
            assert self.reader.read() == self.newest
            assert self.reader.sequence() == (self.newest.sequence if self.newest else 0)
            assert self.reader.torn == 0


BankMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestBankMachine = BankMachine.TestCase
