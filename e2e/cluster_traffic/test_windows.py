"""What windows count, and what the assertions about them say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.records import Log, Record
from e2e.cluster_traffic.windows import Mark, Unsettled, Window, windows


def good(number: int, *, began: float, seconds: float = 1.0, answer: str = "a") -> Record:
    return Record(
        number, began=began, seconds=seconds, status=200, tokens=5, answer=answer, engine="e-0"
    )


def bad(number: int, *, began: float, failure: str, seconds: float = 1.0) -> Record:
    return Record(number, began=began, seconds=seconds, status=None, failure=failure)


def seen(*records: Record, until: float) -> Window:
    """Return all requests up to a time as one window."""
    (found,) = windows(Log(records, settled=until), [Mark("w", 0.0)], until=until)
    return found


def test_a_request_counts_where_it_ended() -> None:
    records = (
        good(0, began=0.0),
        bad(1, began=8.0, seconds=5.0, failure="ConnectError"),
        good(2, began=12.0),
    )

    first, second = windows(
        Log(records, settled=20.0), [Mark("start", 0.0), Mark("deleted", 10.0)], until=20.0
    )

    assert (first.requests, first.num_failures) == (1, 0)
    assert (second.name, second.requests, second.failures) == ("deleted", 2, {"ConnectError": 1})


def test_the_last_window_has_what_was_under_way_at_its_end() -> None:
    assert seen(bad(0, began=9.0, seconds=60.0, failure="timeout"), until=10.0).num_failures == 1


def test_a_window_waits_for_the_requests_in_it() -> None:
    with pytest.raises(Unsettled, match=r"settled up to 19\.000, asked is 20\.000"):
        windows(Log((), settled=19.0), [Mark("start", 0.0)], until=20.0)


def test_latencies_are_those_of_answered_requests() -> None:
    records = [good(n, began=0.0, seconds=n / 100) for n in range(1, 101)]

    window = seen(*records, bad(101, began=0.0, seconds=60.0, failure="timeout"), until=100.0)

    assert (window.latency.p50, window.latency.p95, window.latency.longest) == (0.5, 0.95, 1.0)
    assert window.ttft.p50 is None
    assert window.engines == {"e-0": 100}


def test_the_longest_gap_is_time_without_a_good_answer() -> None:
    records = [good(0, began=0.0), good(1, began=6.5), bad(2, began=3.0, failure="HTTP 503")]

    assert seen(*records, until=8.0).longest_gap_seconds == 6.5


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20), st.booleans())))
def test_every_request_counts_once(drawn: list[tuple[float, float, bool]]) -> None:
    records = tuple(
        bad(n, began=began, seconds=seconds, failure="x")
        if failed
        else good(n, began=began, seconds=seconds)
        for n, (began, seconds, failed) in enumerate(drawn)
    )
    marks = [Mark("start", 0.0), Mark("one", 30.0), Mark("two", 60.0)]

    found = windows(Log(records, settled=101.0), marks, until=101.0)

    assert sum(one.requests for one in found) == len(records)
    assert sum(one.num_failures for one in found) == sum(bool(r.failure) for r in records)


def test_a_failure_is_told_with_its_reason() -> None:
    records = (good(0, began=0.0), bad(1, began=1.0, failure="ConnectError"))
    (window,) = windows(Log(records, 5.0), [Mark("engine deleted", 0.0)], until=5.0)

    with pytest.raises(AssertionError, match=r"'engine deleted'.*1 of 2 requests.*ConnectError"):
        assert_no_failures(window, minimum=1)


def test_too_few_requests_prove_nothing() -> None:
    with pytest.raises(AssertionError, match="1 requests, expected at least 100"):
        assert_no_failures(seen(good(0, began=0.0), until=5.0), minimum=100)


def test_another_answer_than_before_the_window_is_noticed() -> None:
    records = [good(0, began=0.0, answer="a"), good(1, began=6.0, answer="b")]

    before, after = windows(
        Log(tuple(records), 9.0), [Mark("start", 0.0), Mark("swap", 5.0)], until=9.0
    )

    assert_same_answers(before)
    with pytest.raises(AssertionError, match=r"prompts \[0\] have several answers"):
        assert_same_answers(after)
