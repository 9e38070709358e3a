from __future__ import annotations

from pathlib import Path

import numpy as np

from specfleet_common.shm.capture import STEP
from specfleet_trainer.joining import Joiner
from specfleet_trainer.source import Source
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import sequence


def source(shared: Path) -> Source:
    return Source(
        shared / "capture.ring", new_joiner=lambda: Joiner(max_rows=100, max_open_rows=1000)
    )


def test_without_a_ring_there_is_nothing_to_read(tmp_path: Path) -> None:
    reading = source(tmp_path)

    assert reading.layout() is None
    assert list(reading.drain(10)) == []


def test_finished_requests_come_out_as_they_went_in(tmp_path: Path) -> None:
    writer = engine.new_ring(tmp_path)
    reading = source(tmp_path)
    assert reading.layout() == engine.layout()
    engine.serve(writer, 2)

    joined = list(reading.drain(100))

    assert [item.serial for item in joined] == [0, 1]
    expected = sequence(rows=20, seed=1)
    assert np.array_equal(joined[1].hidden, expected.hidden)
    assert np.array_equal(joined[1].tokens, expected.tokens)


def test_no_more_records_are_taken_than_asked_for(tmp_path: Path) -> None:
    writer = engine.new_ring(tmp_path)
    reading = source(tmp_path)
    reading.layout()
    engine.serve(writer, 2)

    drained = [len(list(reading.drain(5))) for _ in range(2)]

    assert drained == [1, 1]


def test_a_new_ring_is_followed_and_what_was_open_is_forgotten(tmp_path: Path) -> None:
    old = engine.new_ring(tmp_path)
    reading = source(tmp_path)
    reading.layout()
    item = sequence(rows=20, seed=1, prompt_tokens=4)
    engine.begin(old, item)
    engine.rows(old, item, 0, 20)
    new = engine.new_ring(tmp_path, lineage_id="other")
    engine.end(new, item)
    engine.serve(new, 1, first=7)

    layout = reading.layout()
    joined = list(reading.drain(100))

    assert layout is not None and layout.lineage_id == "other"
    assert [one.serial for one in joined] == [7]


def test_a_record_that_the_layout_does_not_allow_is_skipped(tmp_path: Path) -> None:
    writer = engine.new_ring(tmp_path)
    reading = source(tmp_path)
    reading.layout()
    writer.write(STEP, [b"not a step"])
    engine.serve(writer, 1)

    assert len(list(reading.drain(100))) == 1


def test_a_file_that_is_no_ring_is_left_alone_until_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "capture.ring").write_bytes(b"something else" * 1000)
    reading = source(tmp_path)
    before = reading.layout()
    engine.new_ring(tmp_path)

    assert before is None
    assert reading.layout() == engine.layout()


def test_requests_of_all_engines_and_trainers_have_names_of_their_own(tmp_path: Path) -> None:
    first = engine.new_ring(tmp_path)
    names = []
    engine.serve(first, 2)
    names += _names(source(tmp_path))
    engine.serve(first, 2, first=2)
    names += _names(source(tmp_path))
    engine.serve(engine.new_ring(tmp_path), 2)
    names += _names(source(tmp_path))

    assert len(set(names)) == 6
    assert names[3] == f"{first.incarnation:016x}-3"


def _names(reading: Source) -> list[str]:
    reading.layout()
    return [item.id for item in reading.drain(100)]
