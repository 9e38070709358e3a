import numpy as np

from specfleet_engine.counters import KEPT_DRAFTERS, Counters


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
