import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.lineage import EARLIER
from specfleet_engine.counters import KEPT_DRAFTERS, Counters, Work


def counts(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_a_draft_counts_for_the_drafter_that_proposed_it() -> None:
    counters = Counters(3)
    counters.proposed(["a"], "stock")

    counters.proposed(["b"], "new")
    counters.verified(["a", "b"], counts(3, 3), counts(2, 0), counts(3, 1))

    assert counters.of("stock").accepted.tolist() == [1, 1, 0]
    assert counters.of("stock").drafted.tolist() == [1, 1, 1]
    assert counters.of("new").accepted.tolist() == [0, 0, 0]
    assert (counters.of("stock").output_tokens, counters.of("new").output_tokens) == (3, 1)


def test_a_request_without_a_draft_is_not_a_verify_step() -> None:
    counters = Counters(3)
    counters.proposed(["a"], "stock")

    counters.verified(["a"], counts(0), counts(0), counts(1))

    assert counters.of("stock").verify_steps == 0


def test_a_finished_request_is_forgotten() -> None:
    counters = Counters(3)
    counters.proposed(["a"], "stock")

    counters.forget("a")
    counters.verified(["a"], counts(3), counts(3), counts(4))

    assert counters.of("stock").verify_steps == 0


def test_a_step_is_of_the_drafter_that_was_live_in_it_with_all_it_put_out() -> None:
    counters = Counters(3)
    counters.proposed(["a", "b"], "stock")

    counters.verified(["a", "b", "new"], counts(3, 3, 0), counts(2, 0, 0), counts(3, 1, 1))
    counters.step_ends("next", 0.5)

    assert counters.of("next").bands == {2: Work(2, 5, 0.5)}
    assert counters.of("next").busy_seconds == 0.5
    assert counters.of("stock").bands == {}
    assert counters.of("stock").output_tokens == 4


def test_a_step_in_which_the_drafter_did_not_run_is_in_no_band() -> None:
    counters = Counters(3)

    counters.step_ends("stock", 0.5)

    assert (counters.of("stock").busy_seconds, counters.of("stock").bands) == (0.5, {})


def test_the_bands_of_forgotten_drafters_are_added_up() -> None:
    counters = Counters(1)

    for version in range(KEPT_DRAFTERS + 2):
        counters.verified(["a"], counts(0), counts(0), counts(1))
        counters.step_ends(f"{version:064x}", 0.25)

    assert counters.of(EARLIER).bands == {1: Work(0, 2, 0.5)}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 20)), max_size=40))
def test_every_step_is_in_one_band(steps: list[tuple[str, int]]) -> None:
    counters = Counters(1)

    for drafter, requests in steps:
        counters.verified([""] * requests, *(np.ones(requests, np.int64) for _ in range(3)))
        counters.step_ends(drafter, 1.0)

    bands = [counters.of(name).bands for name in "abc"]
    assert sum(work.busy_seconds for of_one in bands for work in of_one.values()) == len(steps)
    assert sum(work.output_tokens for of_one in bands for work in of_one.values()) == sum(
        requests for _, requests in steps
    )
    assert {band for of_one in bands for band in of_one} == {n.bit_length() for _, n in steps}


def test_the_number_of_drafters_is_bounded_and_sums_never_fall() -> None:
    counters = Counters(1)
    counters.of("stock").verify_steps = 5

    for version in range(3 * KEPT_DRAFTERS):
        counters.of(f"{version:064x}").verify_steps = 1

    drafters = {str(drafter["digest"]): drafter for drafter in counters.snapshot()}
    steps = [drafter["verify_steps"] for drafter in drafters.values()]
    assert len(drafters) <= KEPT_DRAFTERS + 1
    assert drafters["stock"]["verify_steps"] == 5
    assert sum(int(str(step)) for step in steps) == 5 + 3 * KEPT_DRAFTERS


def test_the_drafter_in_use_is_not_forgotten() -> None:
    counters = Counters(1)

    for version in range(3 * KEPT_DRAFTERS):
        counters.of("live").verify_steps += 1
        counters.of(f"{version:064x}")

    assert counters.of("live").verify_steps == 3 * KEPT_DRAFTERS
