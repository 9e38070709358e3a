"""A page's content is always whole, and a dead writer's last words stay readable."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.files import create_file, open_file
from specfleet_common.shm.layout import PAGE, ShmAbsent, ShmMismatch
from specfleet_common.shm.pages import PageReader, PageWriter
from specfleet_common.shm.slots import data_bytes
from specfleet_common.shm.tests.building import layout
from specfleet_common.shm.tests.dying import Died, DyingFile, InterruptedFile

contents = st.dictionaries(
    st.text(max_size=5),
    st.integers()
    | st.text(max_size=10)
    | st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    max_size=4,
)


def test_a_page_before_its_first_content_is_none(tmp_path: Path) -> None:
    PageWriter.create(tmp_path / "rank-0.page")

    assert PageReader.attach(tmp_path / "rank-0.page").read() is None


def test_the_newest_content_is_read(tmp_path: Path) -> None:
    writer = PageWriter.create(tmp_path / "rank-0.page")
    reader = PageReader.attach(tmp_path / "rank-0.page")
    writer.write({"swaps": 1})
    writer.write({"swaps": 2, "accepted": [3, 1], "reason": "ünïcode"})

    assert reader.read() == {"swaps": 2, "accepted": [3, 1], "reason": "ünïcode"}


def test_content_too_large_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    writer = PageWriter.create(tmp_path / "rank-0.page", size=20)
    writer.write({"a": 1})

    with pytest.raises(ValueError, match="expected at most"):
        writer.write({"a": "x" * 20})

    assert PageReader.attach(tmp_path / "rank-0.page").read() == {"a": 1}


def test_what_json_cannot_say_is_refused(tmp_path: Path) -> None:
    writer = PageWriter.create(tmp_path / "rank-0.page")

    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.write({"busy_seconds": float("nan")})


def test_an_absent_page_and_another_kind_of_file_are_told_apart(tmp_path: Path) -> None:
    BankWriter.create(tmp_path / "bank", layout(), 64)

    with pytest.raises(ShmAbsent, match="no statistics page yet"):
        PageReader.attach(tmp_path / "rank-0.page")
    with pytest.raises(ShmMismatch, match="expected b'SPFLPAGE'"):
        PageReader.attach(tmp_path / "bank")


def test_a_new_engine_replaces_the_page(tmp_path: Path) -> None:
    PageWriter.create(tmp_path / "rank-0.page").write({"swaps": 1})
    reader = PageReader.attach(tmp_path / "rank-0.page")

    PageWriter.create(tmp_path / "rank-0.page")

    assert reader.is_replaced()
    assert reader.read() == {"swaps": 1}


def test_a_read_that_two_writes_overtake_is_nothing_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.page"
    writer = PageWriter.create(path)
    writer.write({"swaps": 1})

    def write_twice() -> None:
        writer.write({"swaps": 2})
        writer.write({"swaps": 3})

    reader = PageReader(InterruptedFile(open_file(path, PAGE, None, writable=False), write_twice))

    assert reader.read() is None
    assert reader.torn == 1
    assert reader.read() == {"swaps": 3}


class PageMachine(RuleBasedStateMachine):
    """A page beside one variable: the content whose writer lived to seal it."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "rank-0.page"

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    @initialize()
    def engine_starts(self) -> None:
        self.file = DyingFile(create_file(self.path, PAGE, None, data_bytes=data_bytes(1000)))
        self.writer = PageWriter(self.file)
        self.reader = PageReader.attach(self.path)
        self.content: dict[str, Any] | None = None

    @rule()
    def engine_restarts(self) -> None:
        self.engine_starts()

    @rule()
    def agent_restarts(self) -> None:
        self.reader = PageReader.attach(self.path)

    @rule(content=contents)
    def write(self, content: dict[str, Any]) -> None:
        self.writer.write(content)
        self.content = content

    @rule(content=contents, stores=st.integers(0, 7))
    def engine_dies_while_writing(self, content: dict[str, Any], stores: int) -> None:
        self.file.stores_left = stores
        with pytest.raises(Died):
            self.writer.write(content)
        assert self.reader.read() == self.content
        self.engine_starts()

    @invariant()
    def the_content_is_whole(self) -> None:
        if hasattr(self, "reader"):
            assert self.reader.read() == self.content
            assert self.reader.torn == 0


PageMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
TestPageMachine = PageMachine.TestCase
