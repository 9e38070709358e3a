from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.shm.capture import Begin, End, Step
from specfleet_trainer.joining import Joiner
from specfleet_trainer.sequences import Drafts, Sequence

HIDDEN = 2
DEPTHS = 2


def begin(serial: int = 1, *, complete: bool = True, prompt_tokens: int = 3) -> Begin:
    return Begin(
        serial=serial, key=9, held_out=False, complete=complete, prompt_tokens=prompt_tokens
    )


def step(*parts: tuple[int, int, int], drafts: int = 7) -> Step:
    """Return a step of (serial, first position, rows); the token at position p is 100 + p."""
    positions = np.concatenate([np.arange(p, p + rows) for _, p, rows in parts]).astype(np.int32)
    rows = np.array([rows for _, _, rows in parts], np.uint32)
    return Step(
        number=0,
        digest="stock",
        serials=np.array([serial for serial, _, _ in parts], np.uint64),
        first=(np.cumsum(rows) - rows).astype(np.uint32),
        rows=rows,
        drafts=np.full((len(parts), DEPTHS), drafts, np.int32),
        tokens=positions + 100,
        fed=positions + 101,
        positions=positions,
        hidden=np.repeat(positions[:, None], HIDDEN, axis=1).astype(np.float32),
    )


def join(*records: Begin | Step | End, max_rows: int = 100) -> Sequence | None:
    joiner = Joiner(max_rows=max_rows, max_open_rows=1000)
    return [joiner.add(record) for record in records][-1]


def assert_rows(sequence: Sequence | None, first: int, rows: int) -> Sequence:
    assert sequence is not None
    assert sequence.tokens.tolist() == list(range(100 + first, 101 + first + rows))
    assert sequence.hidden[:, 0].tolist() == list(range(first, first + rows))
    return sequence


def test_the_steps_of_a_finished_request_become_one_sequence() -> None:
    records = [step((1, 0, 4)), step((1, 4, 1)), step((1, 5, 2))]

    sequence = join(begin(), *records, End(1, 8, "finished"))

    joined = assert_rows(sequence, 0, 7)
    assert joined.complete and joined.key == 9 and joined.prompt_tokens == 3
    assert joined.drafts.keys() == {3, 4, 6}
    assert joined.drafts[3] == Drafts("stock", (7, 7))


def test_rows_accepted_past_the_stop_are_cut() -> None:
    sequence = join(begin(), step((1, 0, 4)), step((1, 4, 3)), End(1, 6, "finished"))

    joined = assert_rows(sequence, 0, 5)
    assert joined.complete and joined.drafts.keys() == {3}


def test_requests_of_one_step_are_told_apart() -> None:
    joiner = Joiner(max_rows=100, max_open_rows=1000)
    for record in (begin(1), begin(2), step((2, 0, 3), (1, 0, 5)), step((1, 5, 1), (2, 3, 2))):
        joiner.add(record)

    ended = [joiner.add(End(1, 7, "finished")), joiner.add(End(2, 6, "finished"))]

    assert_rows(ended[0], 0, 6)
    assert_rows(ended[1], 0, 5)


def test_the_last_write_of_a_position_wins_after_a_preemption() -> None:
    untrue = step((1, 0, 4))
    untrue.fed[:] = 0
    assert isinstance(untrue.hidden, np.ndarray)
    untrue.hidden[:] = -1.0

    sequence = join(begin(), untrue, step((1, 0, 3)), step((1, 3, 2)), End(1, 6, "finished"))

    joined = assert_rows(sequence, 0, 5)
    assert joined.fed.tolist() == joined.tokens[1:].tolist()
    assert joined.drafts.keys() == {2, 4}


def test_the_rows_before_a_gap_are_kept_and_marked_incomplete() -> None:
    sequence = join(begin(), step((1, 0, 4)), step((1, 6, 2)), End(1, 9, "finished"))

    joined = assert_rows(sequence, 0, 3)
    assert not joined.complete


def test_a_dropped_request_keeps_what_is_certain() -> None:
    sequence = join(begin(), step((1, 0, 4)), End(1, 4, "dropped"))

    joined = assert_rows(sequence, 0, 3)
    assert not joined.complete


def test_rows_missing_at_the_end_make_it_incomplete() -> None:
    sequence = join(begin(), step((1, 0, 4)), End(1, 9, "finished"))

    joined = assert_rows(sequence, 0, 3)
    assert not joined.complete


def test_a_request_that_skipped_cached_tokens_starts_later_and_is_incomplete() -> None:
    sequence = join(begin(complete=False), step((1, 16, 4)), End(1, 21, "finished"))

    joined = assert_rows(sequence, 16, 4)
    assert joined.first_position == 16 and not joined.complete


def test_a_long_request_is_cut_at_the_limit() -> None:
    records = [step((1, 0, 4)), step((1, 4, 4)), step((1, 8, 1))]

    sequence = join(begin(), *records, End(1, 10, "finished"), max_rows=6)

    joined = assert_rows(sequence, 0, 5)
    assert not joined.complete and joined.drafts.keys() == {3}


def test_a_step_without_drafts_leaves_none() -> None:
    sequence = join(begin(), step((1, 0, 4), drafts=-1), End(1, 5, "finished"))

    assert assert_rows(sequence, 0, 4).drafts == {}


def test_nothing_comes_of_a_request_without_rows_or_never_begun() -> None:
    assert join(begin(), End(1, 5, "aborted")) is None
    assert join(step((1, 0, 4)), End(1, 5, "finished")) is None
    assert join(begin(), step((1, 0, 4)), End(1, 0, "finished")) is None


def test_the_oldest_request_is_forgotten_when_too_many_rows_are_held() -> None:
    joiner = Joiner(max_rows=100, max_open_rows=10)
    for record in (begin(1), begin(2), step((1, 0, 6)), step((2, 0, 6))):
        joiner.add(record)

    ended = [joiner.add(End(serial, 7, "finished")) for serial in (1, 2)]

    assert ended[0] is None
    assert_rows(ended[1], 0, 6)


def test_requests_whose_rows_and_end_were_lost_are_forgotten_as_well() -> None:
    joiner = Joiner(max_rows=100, max_open_rows=10)
    for serial in range(11):
        joiner.add(begin(serial))
    joiner.add(step((0, 0, 4), (10, 0, 4)))

    ended = [joiner.add(End(serial, 5, "finished")) for serial in (0, 10)]

    assert ended[0] is None
    assert_rows(ended[1], 0, 4)


@given(st.lists(st.integers(1, 70), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_however_rows_are_cut_into_steps_and_repeated_the_sequence_is_the_same(
    cuts: list[int], choice: random.Random
) -> None:
    starts = np.cumsum([0, *cuts])
    records: list[Begin | Step | End] = [begin()]
    for start, rows in zip(starts.tolist(), cuts, strict=False):
        if choice.random() < 0.3:
            records.append(step((1, 0, max(1, start))))
        records.append(step((1, start, rows)))

    sequence = join(*records, End(1, int(starts[-1]) + 1, "finished"), max_rows=1000)

    assert assert_rows(sequence, 0, int(starts[-1])).complete
