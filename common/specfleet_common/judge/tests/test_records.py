import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.judge.records import Block, Walk, batch_band, union
from specfleet_common.judge.tests.building import blocks

cells = st.builds(
    Block,
    engine=st.sampled_from(["a", "b"]),
    block=st.integers(0, 2),
    band=st.just(1),
    digest=st.sampled_from(["x", "y"]),
    swaps=st.integers(0, 1),
    busy_seconds=st.floats(0, 30),
    tokens=st.integers(0, 1000),
    verify_steps=st.integers(0, 1000),
)
reports = st.lists(st.lists(cells, max_size=6), max_size=4)


@given(reports)
def test_neither_order_nor_repetition_of_reports_changes_what_is_known(
    several: list[list[Block]],
) -> None:
    known = union(*several)

    assert union(*reversed(several), known) == known
    assert union(union(*several[:2]), union(*several[2:])) == known


def test_of_two_records_of_a_cell_the_fuller_one_stays() -> None:
    early, late = (
        Block("e", 0, 1, "d", swaps=1, busy_seconds=seconds, tokens=9, verify_steps=3)
        for seconds in (4.0, 9.0)
    )

    assert union([late], [early]) == (late,)


def test_records_of_different_digests_in_one_block_are_both_kept() -> None:
    one = blocks(1)[0]

    assert len(union([one], [Block(one.engine, one.block, one.band, "other", 1, 1.0, 1, 1)])) == 2


@pytest.mark.parametrize(("steps", "shown"), [(0, "is 0"), (11, "is 11")])
def test_a_walk_has_at_least_one_step_and_no_more_than_tokens(steps: int, shown: str) -> None:
    with pytest.raises(ValueError, match=f"walk of r1: stable_steps {shown}, expected 1 to 10"):
        Walk("r1", "c", "", 10, candidate_steps=5, stable_steps=steps, stock_steps=5)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
def test_an_amount_that_would_spoil_sums_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1e\\+12"):
        Block("e", 0, 1, "d", swaps=0, busy_seconds=seconds, tokens=1, verify_steps=1)


def test_batch_bands_double_in_width() -> None:
    assert [batch_band(size) for size in (0, 1, 2, 3, 4, 7, 8)] == [0, 1, 2, 2, 3, 3, 4]
