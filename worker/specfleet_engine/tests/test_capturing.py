from __future__ import annotations

import numpy as np

from specfleet_common.shm.capture import Begin, End, Step
from specfleet_engine.capturing import Capture
from specfleet_engine.following import Following, FollowPolicy, NewRequest
from specfleet_engine.step import Scheduled, Verified

HIDDEN = 2


class Sink:
    """Keeps records; it is full while `full`."""

    def __init__(self) -> None:
        self.records: list[Begin | Step | End] = []
        self.full = False

    def put(self, record: Begin | Step | End) -> bool:
        if not self.full:
            self.records.append(record)
        return not self.full


def capture(sink: Sink, *, follow_requests: int = 4, max_tokens: int = 100) -> Capture:
    policy = FollowPolicy("fleet", follow_requests, max_tokens, holdout_percent=0, key_tokens=16)
    return Capture(Following(policy), sink)


def scheduled(*new: str, finished: tuple[str, ...] = (), most: int = 50) -> Scheduled:
    requests = [NewRequest(name, [1, 2, 3], 0, most, 0, frozenset(), name) for name in new]
    return Scheduled(new=requests, finished=finished, request_ids=new, num_tokens=len(new))


def verified(*requests: tuple[str, list[int], int, int], position: int = 0) -> Verified:
    """Return a step: per request its id, its tokens, how many are verified, and the next token."""
    tokens = [token for _, row, _, _ in requests for token in row]
    starts = np.cumsum([0, *(len(row) for _, row, _, _ in requests)])
    positions = [position + at for _, row, _, _ in requests for at in range(len(row))]
    return Verified(
        request_ids=[name for name, _, _, _ in requests],
        first=starts[:-1],
        last=starts[:-1] + [count - 1 for _, _, count, _ in requests],
        drafted=np.zeros(len(requests), np.int64),
        sampled=np.ones(len(requests), np.int64),
        tokens=np.array(tokens, np.int32),
        positions=np.array(positions, np.int64),
        next_tokens=np.array([following for _, _, _, following in requests], np.int32),
        hidden=np.arange(len(tokens) * HIDDEN, dtype=np.float32).reshape(-1, HIDDEN),
    )


DRAFTS = np.array([[7, 8], [9, 10]], np.int32)


def test_only_verified_rows_of_followed_requests_are_written() -> None:
    sink = Sink()
    engine = capture(sink, follow_requests=1)
    engine.step_begins(scheduled("a", "b"))

    engine.verified(verified(("b", [4, 5], 2, 6), ("a", [1, 2, 9], 2, 3)))
    engine.drafted(DRAFTS, "stock")

    begin, step = sink.records
    assert isinstance(begin, Begin) and isinstance(step, Step)
    assert isinstance(step.hidden, np.ndarray)
    assert step.tokens.tolist() == [1, 2]
    assert step.fed.tolist() == [2, 3]
    assert step.positions.tolist() == [0, 1]
    assert step.hidden.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert step.drafts.tolist() == [[9, 10]]
    assert (step.digest, step.serials.tolist()) == ("stock", [begin.serial])


def test_a_finished_request_ends_with_the_length_that_counts() -> None:
    sink = Sink()
    engine = capture(sink)
    engine.step_begins(scheduled("a", most=2))
    engine.verified(verified(("a", [1, 2, 3], 3, 4)))
    engine.drafted(DRAFTS, "stock")
    engine.verified(verified(("a", [4, 5, 6], 3, 7), position=3))
    engine.drafted(DRAFTS, "stock")

    engine.step_begins(scheduled(finished=("a",)))

    assert sink.records[-1] == End(serial=0, length=5, reason="finished")


def test_a_lost_step_ends_the_requests_in_it() -> None:
    sink = Sink()
    engine = capture(sink)
    engine.step_begins(scheduled("a"))
    sink.full = True

    engine.verified(verified(("a", [1, 2, 3], 3, 4)))
    engine.drafted(DRAFTS, "stock")
    sink.full = False
    engine.verified(verified(("a", [4], 1, 5), position=3))
    engine.drafted(DRAFTS, "stock")

    assert engine.followed == 0
    assert [type(record) for record in sink.records] == [Begin]
    assert engine.counts.dropped_records == 2


def test_a_step_without_a_draft_ends_its_requests() -> None:
    sink = Sink()
    engine = capture(sink)
    engine.step_begins(scheduled("a"))

    engine.skipped(["a", "not-followed"])

    assert sink.records[-1] == End(serial=0, length=3, reason="dropped")
    assert engine.counts.skipped_steps == 1


def test_rows_beyond_the_limit_are_not_written() -> None:
    sink = Sink()
    engine = capture(sink, max_tokens=5)
    engine.step_begins(scheduled("a"))

    engine.verified(verified(("a", [1, 2, 3, 4, 5, 6], 6, 7)))
    engine.drafted(DRAFTS, "stock")

    step = sink.records[-1]
    assert isinstance(step, Step)
    assert step.positions.tolist() == [0, 1, 2, 3, 4]
