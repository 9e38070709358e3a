from dataclasses import replace

from specfleet_common.judge.equivalence import judge_equivalence
from specfleet_common.judge.records import Block
from specfleet_common.judge.tests.building import PLAN, blocks
from specfleet_common.judge.verdicts import Outcome, Verdict

SAME = "a" * 64


def judged(pairs: int, *, effect: float = 0.0, swaps: int = 1) -> Verdict:
    records: list[Block] = [
        replace(block, digest=SAME, swaps=swaps) for block in blocks(pairs, effect=effect)
    ]
    return judge_equivalence(records, PLAN, digest=SAME, margin=0.02, alpha=0.05)


def test_arms_that_run_the_same_are_equivalent_within_the_margin() -> None:
    assert judged(80).outcome is Outcome.PASSED


def test_an_engine_that_measures_a_difference_is_not_judgeable() -> None:
    verdict = judged(80, effect=-0.08)

    assert verdict.outcome is Outcome.NOT_EQUIVALENT
    assert verdict.sentence.startswith("Not equivalent: first arm over second arm -")


def test_a_difference_in_the_other_direction_counts_as_well() -> None:
    assert judged(80, effect=0.08).outcome is Outcome.NOT_EQUIVALENT


def test_blocks_without_a_real_swap_prove_nothing() -> None:
    assert judged(80, swaps=0).outcome is Outcome.NO_DATA


def test_a_handful_of_pairs_is_not_enough() -> None:
    assert judged(5).outcome is Outcome.TOO_LITTLE_TRAFFIC
