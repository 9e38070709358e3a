from hypothesis import given
from hypothesis import strategies as st

from specfleet_engine.proposing import KEPT_REQUESTS, MOST_DRAFTERS, Proposers


def test_all_that_proposed_for_a_request_are_told_once_it_has_ended() -> None:
    proposers = Proposers()
    proposers.begins("a-1", "a")
    proposers.begins("b-1", "b")

    proposers.proposed(["a-1", "b-1"], "stock")
    proposers.proposed(["a-1"], "new")
    proposers.ends("a-1", at=7.25)

    assert proposers.snapshot() == [{"request": "a", "ended": 7.25, "digests": ["new", "stock"]}]


def test_a_request_for_which_nobody_proposed_is_told_of_too() -> None:
    proposers = Proposers()
    proposers.begins("a-1", "a")

    proposers.ends("a-1", at=1.0)

    assert proposers.snapshot() == [{"request": "a", "ended": 1.0, "digests": []}]


def test_one_that_never_began_is_left_out() -> None:
    proposers = Proposers()

    proposers.ends("a-1", at=1.0)

    assert proposers.snapshot() == []


def test_several_answers_to_one_request_are_told_of_together() -> None:
    proposers = Proposers()
    for number, drafter in enumerate(["stock", "new"]):
        proposers.begins(f"{number}_a", "a")
        proposers.proposed([f"{number}_a"], drafter)
        proposers.ends(f"{number}_a", at=float(number))

    assert proposers.snapshot() == [{"request": "a", "ended": 1.0, "digests": ["new", "stock"]}]


@given(st.lists(st.integers(0, 400), max_size=600))
def test_the_newest_are_kept_each_once(names: list[int]) -> None:
    proposers = Proposers()

    for at, name in enumerate(names):
        proposers.begins("now", str(name))
        proposers.ends("now", at=float(at))

    told = [one["request"] for one in proposers.snapshot()]
    newest = list(dict.fromkeys(str(name) for name in reversed(names)))[:KEPT_REQUESTS]
    assert told == newest[::-1]


def test_how_many_drafters_are_told_of_is_bounded() -> None:
    proposers = Proposers()
    proposers.begins("a-1", "a")

    for version in range(100):
        proposers.proposed(["a-1"], f"{version:064x}")
    proposers.ends("a-1", at=1.0)

    (told,) = proposers.snapshot()
    assert len(str(told["digests"]).split(",")) == MOST_DRAFTERS
