"""The gate study runs, its claims hold, and it judges as the product judges."""

import json
from pathlib import Path

import numpy as np
import pytest

from e2e.gate_study.__main__ import main
from e2e.gate_study.lineages import fresh_conversations, growing_conversations
from e2e.gate_study.walks import World, walk, walk_with_gain
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.records import Walk
from specfleet_common.judge.replay import LIVE, ReplayPolicy, judge_replay

ALPHA = 0.05


def test_the_quick_study_holds_its_claims(tmp_path: Path) -> None:
    code = main(["--quick", "--out", str(tmp_path)])

    report = json.loads((tmp_path / "report.json").read_text())
    failed = [one["name"] for one in report["findings"] if not one["holds"]]
    assert (code, failed) == (0, [])
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_the_study_adds_up_what_the_product_adds_up() -> None:
    walked = walk(World(disagreement=0.3), 40, np.random.default_rng(1))
    chosen = np.random.default_rng(2).integers(0, 40, (1, 120))
    records = [
        Walk(
            request=str(number),
            conversation=str(number),
            domain="",
            tokens=int(walked.tokens[talk, 0]),
            candidate_steps=int(walked.candidate[talk, 0]),
            stable_steps=int(walked.stable[talk, 0]),
            stock_steps=int(walked.stable[talk, 0]),
        )
        for number, talk in enumerate(chosen[0])
    ]
    evidence = fresh_conversations(walked, 120, null=False)(np.random.default_rng(2), 1)

    verdict = judge_replay(records, ReplayPolicy(0.005, 0.01), Budget(ALPHA, ALPHA))

    assert verdict.effects[0].gain == pytest.approx(float(evidence.totals.gain[0, -1]))
    assert verdict.effects[0].lower == pytest.approx(
        float(LIVE.lower(evidence.totals, ALPHA)[0, -1])
    )
    assert verdict.effects[0].upper == pytest.approx(
        float(LIVE.upper(evidence.totals, ALPHA)[0, -1])
    )


def test_all_requests_of_growing_conversations_are_seen_in_the_end() -> None:
    world = World(requests_each=3)
    walked = walk(world, 30, np.random.default_rng(1))
    draw = growing_conversations(
        walked, 10, looks=5, null=False, repeats=lambda _, shape: np.full(shape, 2.0)
    )

    evidence = draw(np.random.default_rng(3), 4)

    assert evidence.requests[:, -1].min() >= 60
    assert (np.diff(evidence.steps, axis=1) >= 0).all()


def test_a_pool_has_the_gain_that_was_asked_for() -> None:
    assert walk_with_gain(World(), 0.02, 1000, seed=4).gain == pytest.approx(0.02, abs=1e-4)
