from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_agent.bank import Bank, BankError
from specfleet_agent.engine_page import Rows
from specfleet_agent.tests.builders import (
    OTHER_LINEAGE,
    digest,
    page,
    start_engine,
    version,
    weights,
)
from specfleet_common.shm.bank import BankReader
from specfleet_common.tensors import TensorError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "version-2.safetensors"
    path.write_bytes(weights(2))
    return path


def publish(bank: Bank, source: Path, *, number: int = 2) -> None:
    bank.publish(page(), source, digest=digest(number), label="version")


def test_there_is_no_bank_at_first(tmp_path: Path) -> None:
    assert Bank(tmp_path).digest(page()) is None


def test_the_engine_finds_what_was_published(tmp_path: Path, source: Path) -> None:
    start_engine(tmp_path)
    bank = Bank(tmp_path)

    publish(bank, source)

    entry = BankReader.attach(tmp_path / "weights.bank").read()
    assert entry is not None
    assert (entry.digest, entry.label, entry.data) == (digest(2), "version", weights(2))
    assert bank.digest(page()) == digest(2)


def test_weights_that_are_not_what_they_should_be_are_not_published(
    tmp_path: Path, source: Path
) -> None:
    start_engine(tmp_path)

    with pytest.raises(BankError, match=f"its digest is {digest(2)}, expected {digest(3)}"):
        publish(Bank(tmp_path), source, number=3)

    assert not (tmp_path / "weights.bank").exists()


@pytest.mark.parametrize("damage", [b"", weights(2)[:-1], b"not safetensors"])
def test_damaged_weights_are_not_published(tmp_path: Path, source: Path, damage: bytes) -> None:
    start_engine(tmp_path)
    source.write_bytes(damage)

    with pytest.raises((BankError, TensorError)):
        publish(Bank(tmp_path), source)

    assert not (tmp_path / "weights.bank").exists()


def test_the_bank_of_another_target_counts_as_empty_and_is_replaced(
    tmp_path: Path, source: Path
) -> None:
    start_engine(tmp_path, lineage=OTHER_LINEAGE)
    Bank(tmp_path).publish(page(lineage=OTHER_LINEAGE), source, digest=digest(2), label="version")
    reader = BankReader.attach(tmp_path / "weights.bank")
    start_engine(tmp_path)
    bank = Bank(tmp_path)
    before = bank.digest(page())

    publish(bank, source)

    assert before is None
    assert reader.is_replaced()
    assert bank.digest(page()) == digest(2)


def test_a_bank_of_another_layout_counts_as_empty(tmp_path: Path, source: Path) -> None:
    start_engine(tmp_path)
    bank = Bank(tmp_path)
    publish(bank, source)
    engine = replace(page(), rows=Rows(4, "bfloat16", 2))

    assert bank.digest(engine) is None


@pytest.mark.parametrize(
    ("bank_sequence", "expected"),
    [
        pytest.param(1, digest(2), id="the-engine-has-applied-it"),
        pytest.param(0, "", id="the-engine-has-not-seen-it-yet"),
    ],
)
def test_a_restarted_agent_learns_from_the_engine_what_the_bank_holds(
    tmp_path: Path, source: Path, bank_sequence: int, expected: str
) -> None:
    start_engine(tmp_path)
    publish(Bank(tmp_path), source)
    engine = page(observed_digest=version(2).digest, bank_sequence=bank_sequence)

    assert Bank(tmp_path).digest(engine) == expected


def test_a_restarted_agent_goes_on_with_the_same_bank(tmp_path: Path, source: Path) -> None:
    start_engine(tmp_path)
    publish(Bank(tmp_path), source)
    reader = BankReader.attach(tmp_path / "weights.bank")

    publish(Bank(tmp_path), source)

    assert not reader.is_replaced()
    assert reader.sequence() == 2
