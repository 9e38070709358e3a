"""A pod's log tells what the driver recorded, and notices when a part of it is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.cluster_traffic.records import LogError, Record, line, read_log, settled_line

moments = st.integers(0, 10**9).map(lambda number: number / 10**4)
records = st.builds(
    Record,
    number=st.just(0),
    began=moments,
    seconds=moments,
    status=st.none() | st.integers(200, 599),
    failure=st.text(max_size=20),
    engine=st.text(max_size=20),
    tokens=st.integers(1, 999),
    ttft_seconds=st.none() | moments,
    prompt=st.integers(0, 99),
    answer=st.text(max_size=12),
)


@given(records)
def test_reading_undoes_writing(record: Record) -> None:
    log = read_log([line(record), settled_line(record.began)])

    assert log.records == (record,)
    assert log.settled == record.began


def test_times_are_put_on_the_readers_clock() -> None:
    text = [line(Record(0, began=100.0, seconds=1.0, status=200)), settled_line(102.0)]

    log = read_log(text, clock_ahead_seconds=60.0)

    assert (log.records[0].began, log.records[0].ended, log.settled) == (40.0, 41.0, 42.0)


def test_a_line_that_is_being_written_is_left_out() -> None:
    whole = line(Record(0, began=1.0, seconds=1.0, status=200))

    log = read_log([whole, whole[:20]])

    assert len(log.records) == 1


def test_what_is_under_way_is_not_missing() -> None:
    later = [Record(number, began=number, seconds=1.0, status=200) for number in (0, 2, 3)]

    log = read_log([*map(line, later), settled_line(1.0)])

    assert len(log.records) == 3


def test_a_log_that_lost_its_beginning_is_refused() -> None:
    kept = [Record(number, began=number, seconds=1.0, status=200) for number in (2, 3)]

    with pytest.raises(LogError, match="2 requests from number 0 on are missing"):
        read_log([*map(line, kept), settled_line(9.0)])


def test_another_text_is_refused() -> None:
    with pytest.raises(LogError, match="line 1 is"):
        read_log(['{"hello": "you"}'])
