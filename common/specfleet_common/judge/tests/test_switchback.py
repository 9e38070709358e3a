from dataclasses import replace

import pytest

from specfleet_common.judge.switchback import (
    Arm,
    Switchback,
    counted_blocks,
    counted_requests,
)
from specfleet_common.judge.tests.building import CANDIDATE, DIGESTS, PLAN, STABLE, blocks, requests

ENGINES = [f"engine-{number}" for number in range(20)]


def test_each_pair_has_both_arms_and_their_order_is_random() -> None:
    firsts = []
    for engine in ENGINES:
        for pair in range(50):
            arms = [PLAN.arm(engine, 2 * pair), PLAN.arm(engine, 2 * pair + 1)]
            assert set(arms) == {Arm.TRIAL, Arm.BASE}
            firsts.append(arms[0])

    assert 450 < firsts.count(Arm.TRIAL) < 550


def test_the_seed_alone_fixes_the_plan() -> None:
    def arms(plan: Switchback) -> list[Arm]:
        return [plan.arm("engine-0", block) for block in range(64)]

    assert arms(PLAN) == arms(Switchback("promotion-7", 30.0, 5.0))
    assert arms(PLAN) != arms(replace(PLAN, seed="promotion-8"))


def test_a_small_share_of_pairs_compares_and_the_rest_runs_the_trial_arm() -> None:
    plan = replace(PLAN, one_pair_in=10)

    comparing = [plan.compares("engine-0", 2 * pair) for pair in range(1000)]
    base = [plan.arm("engine-0", block) is Arm.BASE for block in range(2000)]

    assert 60 < sum(comparing) < 140
    assert sum(base) == sum(comparing)


def test_a_block_in_which_the_engine_ran_something_else_is_not_counted() -> None:
    good, *others = blocks(2)
    stray = [
        replace(others[0], digest="other"),
        replace(others[1], digest=_not(others[1].digest)),
        others[2],
        replace(others[2], digest="mixed", tokens=1),
    ]

    assert counted_blocks(PLAN, DIGESTS, [good, *stray]) == (good,)


def test_a_request_counts_when_it_saw_one_drafter_after_the_washout() -> None:
    (one, *_) = requests(1)
    begins = PLAN.block_at(one.started) * PLAN.block_seconds
    cases = {
        "clean": one,
        "began in the washout": replace(one, started=begins + 1),
        "saw two drafters": replace(one, digests=(STABLE, CANDIDATE)),
        "saw the other arm": replace(one, digests=(_not(one.digests[0]),)),
        "failed before any draft": replace(one, digests=(), failed=True),
    }

    counted = [name for name, case in cases.items() if counted_requests(PLAN, DIGESTS, [case])]

    assert counted == ["clean", "failed before any draft"]


@pytest.mark.parametrize("washout", [-1.0, 30.0])
def test_a_washout_is_shorter_than_its_block(washout: float) -> None:
    with pytest.raises(ValueError, match="expected at least 0 and less than a block"):
        Switchback("s", block_seconds=30.0, washout_seconds=washout)


def _not(digest: str) -> str:
    return STABLE if digest == CANDIDATE else CANDIDATE
