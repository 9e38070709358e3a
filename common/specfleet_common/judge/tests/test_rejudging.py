"""Judging a promotion's phases by the rules that were pinned."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from specfleet_common.judge.records import Records, united
from specfleet_common.judge.rejudging import AFTER, REPLAY, canonical, live_comparison, rejudge
from specfleet_common.judge.switchback import Arm
from specfleet_common.judge.tests.building import (
    CANDIDATE,
    OPENED,
    PLAN,
    STABLE,
    STOCK,
    blocks,
    requests,
    walks,
)
from specfleet_common.judge.verdicts import Outcome


@pytest.mark.parametrize(
    ("records", "phase", "outcome", "num_breaches"),
    [
        pytest.param(Records(tuple(walks(60, gain=0.05))), REPLAY, Outcome.PASSED, 0, id="better"),
        pytest.param(Records(tuple(walks(60, gain=-0.05))), REPLAY, Outcome.HARMFUL, 0, id="worse"),
        pytest.param(
            Records((*walks(60, gain=0.05), *walks(40, domain="main", gain=0.0))),
            REPLAY,
            Outcome.PASSED,
            0,
            id="better-and-remembers",
        ),
        pytest.param(
            Records((*walks(60, gain=0.05), *walks(40, domain="main", gain=-0.2))),
            REPLAY,
            Outcome.HARMFUL,
            0,
            id="better-but-has-forgotten",
        ),
        pytest.param(Records(), "Canary", Outcome.NO_DATA, 0, id="nothing"),
        pytest.param(
            Records(blocks=tuple(blocks(40, effect=0.08))), "Canary", Outcome.PASSED, 0, id="faster"
        ),
        pytest.param(
            Records(blocks=tuple(blocks(40, effect=-0.1))), "Rolling", Outcome.HARMFUL, 0, id="slow"
        ),
        pytest.param(
            Records(requests=tuple(requests(10, slower=1.0))),
            "Canary",
            Outcome.NO_DATA,
            1,
            id="guard",
        ),
        pytest.param(
            Records(tuple(walks(90, gain=0.1)), tuple(blocks(60, acceptance=-0.1))),
            "Canary",
            Outcome.CONTRADICTORY_ARMS,
            0,
            id="live-acceptance-contradicts-replay",
        ),
    ],
)
def test_each_phase_is_judged_by_its_records(
    records: Records, phase: str, outcome: Outcome, num_breaches: int
) -> None:
    judgement = rejudge(OPENED, records, phase=phase, stock_digest=STOCK)

    assert judgement.verdict.outcome is outcome
    assert len(judgement.breaches) == num_breaches


def test_after_a_promotion_stable_is_compared_with_stock_in_a_plan_of_its_own() -> None:
    canary = live_comparison(OPENED, phase="Canary", stock_digest=STOCK)
    after = live_comparison(OPENED, phase=AFTER, stock_digest=STOCK)

    assert canary.plan == PLAN
    assert canary.digests == {Arm.TRIAL: CANDIDATE, Arm.BASE: STABLE}
    assert after.digests == {Arm.TRIAL: CANDIDATE, Arm.BASE: STOCK}
    assert after.plan.seed != canary.plan.seed
    assert after.plan.one_pair_in == 20
    assert after.name == "stable over stock"


def test_the_same_records_give_the_same_bytes_in_any_order_and_grouping() -> None:
    records = Records(tuple(walks(50, gain=0.02)), tuple(blocks(20)), tuple(requests(6)))
    draw = random.Random(1)
    shuffled = Records(
        tuple(draw.sample(records.walks, 50)),
        tuple(draw.sample(records.blocks, len(records.blocks))),
        tuple(draw.sample(records.requests, len(records.requests))),
    )
    regrouped = united([shuffled, replace(records, walks=records.walks[:10])])

    made = {
        canonical(rejudge(OPENED, some, phase="Canary", stock_digest=STOCK))
        for some in (records, shuffled, regrouped)
    }

    assert len(made) == 1
    assert json.loads(made.pop()).keys() == {"breaches", "verdict"}
