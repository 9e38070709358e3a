"""The A/A test on a simulated engine: the product's plan, swaps, pages and verdict."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.audits import equivalence
from e2e.engines import Engine
from e2e.simulator.running import running_simulator
from specfleet_common.judge.records import Block
from specfleet_common.judge.switchback import Arm

OPTIONS = equivalence.Options(
    pairs=10,
    block_seconds=2.0,
    washout_seconds=0.5,
    margin=0.3,
    alpha=0.05,
    clients=4,
    max_tokens=32,
    seed=1,
)


def records(*, pairs: int, slower: float) -> list[Block]:
    """Return an engine's blocks; `slower` is by how much its first arm is."""
    found = []
    for block in range(2 * pairs):
        is_trial = OPTIONS.plan.arm("engine", block) is Arm.TRIAL
        # No two pairs are alike, and arms differ a little by chance.
        luck = 1 + 0.02 * ((7 * block) % 5 - 2)
        seconds = luck * (1 + slower * is_trial)
        found.append(Block("engine", block, 3, "d", 1, seconds, 1000, 500))
    return found


def test_a_difference_that_matters_is_a_problem() -> None:
    same = equivalence.judged(records(pairs=40, slower=0.0), OPTIONS, digest="d")
    slower = equivalence.judged(records(pairs=40, slower=1.0), OPTIONS, digest="d")

    assert equivalence.problems(same, slower) == []
    assert equivalence.problems(slower, slower) == [slower.sentence]
    assert equivalence.problems(same, same)[0].startswith("control: one slower arm was not found")


@pytest.mark.e2e
def test_blocks_of_the_same_drafter_are_measured_with_a_swap_each(tmp_path: Path) -> None:
    shared = {
        "SPECFLEET_ENGINE_SHM_DIRECTORY": str(tmp_path / "shm"),
        "SPECFLEET_ENGINE_FLEET": "audit",
    }
    with running_simulator(tmp_path / "log", environment=dict(os.environ) | shared) as simulator:
        engine = Engine(simulator.port, tmp_path / "shm", simulator.process)

        report = equivalence.audit(engine, OPTIONS)

    print(*equivalence.lines(report), sep="\n")
    blocks = {one["block"]: one["swaps"] for one in report["blocks"]}
    assert len(blocks) >= 2 * OPTIONS.pairs
    assert set(blocks.values()) == {1}
    # Too short to be sure that the arms are alike, but no difference may be found.
    assert report["verdict"]["effects"][0]["num_records"] == len(blocks)
    assert report["verdict"]["outcome"] != "NotEquivalent", report["verdict"]["sentence"]
