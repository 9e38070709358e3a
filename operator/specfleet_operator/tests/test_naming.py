"""Names of a fleet's objects."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specfleet_operator.naming import child_name, engines_name

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)


def test_a_name_says_whose_it_is_and_what_for() -> None:
    assert child_name("demo", "push") == "demo-push"


@given(NAMES, NAMES)
def test_a_statefulset_leaves_its_pods_room_for_their_labels(fleet: str, cohort: str) -> None:
    name = engines_name(fleet, cohort)

    assert len(name) <= 52
    assert name[0].isalpha() and name[-1].isalnum()


def test_long_names_that_begin_alike_stay_apart() -> None:
    fleet = "f" * 40

    names = {engines_name(fleet, f"{'c' * 20}-{index}") for index in range(9)}

    assert len(names) == 9
