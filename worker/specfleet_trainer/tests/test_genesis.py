from __future__ import annotations

from dataclasses import replace

from specfleet_trainer.genesis import MOST_CONVERSATIONS, Genesis
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.tests.builders import sequence


def request(serial: int, *, key: int | None = None, rows: int = 10) -> Sequence:
    key = serial if key is None else key
    return replace(sequence(rows=rows, seed=serial, held_out=True), serial=serial, key=key)


def serials(genesis: Genesis, *newest: Sequence) -> list[int]:
    return [one.serial for one in genesis.besides(newest)]


def test_the_first_requests_stay_and_later_ones_find_no_room() -> None:
    genesis = Genesis(max_rows=25)

    for number in range(5):
        genesis.add(request(number))

    assert serials(genesis) == [0, 1]


def test_a_shorter_request_may_fit_where_a_longer_one_did_not() -> None:
    genesis = Genesis(max_rows=25)

    for one in (request(0), request(1, rows=20), request(2)):
        genesis.add(one)

    assert serials(genesis) == [0, 2]


def test_a_conversation_is_there_once() -> None:
    genesis = Genesis(max_rows=1000)

    for one in (request(0, key=7), request(1, key=7), request(2)):
        genesis.add(one)

    assert serials(genesis) == [0, 2]


def test_there_is_an_end_to_the_conversations() -> None:
    genesis = Genesis(max_rows=10**9)

    for number in range(MOST_CONVERSATIONS + 3):
        genesis.add(request(number))

    assert len(serials(genesis)) == MOST_CONVERSATIONS


def test_what_is_served_now_is_not_of_the_past() -> None:
    genesis = Genesis(max_rows=1000)
    for number in range(3):
        genesis.add(request(number))

    assert serials(genesis, request(9, key=1)) == [0, 2]
