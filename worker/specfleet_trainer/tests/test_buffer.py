from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specfleet_trainer.buffer import Buffer, HeldOut
from specfleet_trainer.tests.builders import sequence


def filled(lengths: list[int], *, max_rows: int = 1000, max_uses: int = 4) -> Buffer:
    buffer = Buffer(max_rows=max_rows, max_uses=max_uses)
    for serial, rows in enumerate(lengths):
        buffer.add(sequence(rows=rows, seed=serial))
    return buffer


def serials(buffer: Buffer, rows: int, seed: int = 0) -> list[int]:
    return [kept.sequence.serial for kept in buffer.take(rows, np.random.default_rng(seed))]


def test_new_sequences_come_first_and_in_order() -> None:
    buffer = filled([10, 10, 10, 10])

    taken = [serials(buffer, 20), serials(buffer, 20)]

    assert taken == [[0, 1], [2, 3]]


def test_seen_sequences_fill_what_new_ones_leave() -> None:
    buffer = filled([10, 10])
    serials(buffer, 20)
    buffer.add(sequence(rows=10, seed=9))

    taken = serials(buffer, 30)

    assert taken[0] == 9 and sorted(taken[1:]) == [0, 1]


def test_a_sequence_longer_than_a_batch_comes_alone_and_whole() -> None:
    assert serials(filled([50, 10]), 20) == [0]


def test_a_sequence_is_used_no_more_than_its_number_of_times() -> None:
    buffer = filled([10], max_uses=2)

    taken = [serials(buffer, 20) for _ in range(3)]

    assert taken == [[0], [0], []]
    assert len(buffer) == 0


def test_a_request_that_is_asked_again_counts_as_new() -> None:
    buffer = filled([10], max_uses=2)
    taken = [serials(buffer, 20) for _ in range(3)]

    buffer.add(sequence(rows=10, seed=0))

    assert taken[-1] == []
    assert [serials(buffer, 20) for _ in range(3)] == [[0], [0], []]


def test_the_choice_is_a_function_of_the_generator() -> None:
    first, second = filled([10] * 6), filled([10] * 6)
    serials(first, 60), serials(second, 60)

    assert serials(first, 20, seed=5) == serials(second, 20, seed=5)


def test_seen_sequences_make_room_for_new_ones() -> None:
    buffer = filled([10, 10, 10], max_rows=30)
    serials(buffer, 10)
    buffer.add(sequence(rows=10, seed=7))

    assert len(buffer) == 3
    assert serials(buffer, 30) == [1, 2, 7]


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(1, 100),
)
def test_batches_keep_to_the_bounds_whatever_comes(
    lengths: list[int], rows: int, max_uses: int, max_rows: int
) -> None:
    buffer = filled(lengths, max_rows=max_rows, max_uses=max_uses)
    random = np.random.default_rng(0)

    batches = []
    while batch := buffer.take(rows, random):
        batches.append(batch)

    used = [kept.sequence.serial for batch in batches for kept in batch]
    assert all(
        sum(kept.sequence.rows for kept in batch) <= rows or len(batch) == 1 for batch in batches
    )
    assert all(used.count(serial) == max_uses for serial in set(used))
    assert sum(lengths[serial] for serial in set(used)) <= max_rows or len(set(used)) == 1


def test_held_out_sequences_are_kept_until_newer_ones_need_the_room() -> None:
    held_out = HeldOut(max_rows=25)

    for serial in range(4):
        held_out.add(sequence(rows=10, seed=serial, held_out=True))

    assert [item.serial for item in held_out.sequences] == [2, 3]
