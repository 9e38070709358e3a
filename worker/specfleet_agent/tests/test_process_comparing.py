"""The agent as a real process in a comparison: it alternates, tells, and goes back to stable."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_agent.tests.builders import answer, digest, version, weights
from specfleet_agent.tests.comparing import ComparingAggregator, FollowingEngine
from specfleet_agent.tests.processes import AgentProcess, closing_all, eventually
from specfleet_agent.tests.promoting import comparison
from specfleet_common.judge.records import Block, Request, union
from specfleet_common.judge.switchback import Arm, counted_blocks, counted_requests

TOLD = replace(comparison(trial=3, base=2), block_seconds=1.5, washout_seconds=0.4)
REPLY = replace(
    answer(stable=version(2), comparison=TOLD, heartbeat_seconds=0.2), lease_seconds=3.0
)
MAX_RESIDENT_BYTES = 150 << 20


class Comparing:
    """An agent with both its sides; versions 2 and 3 are on its volume."""

    def __init__(self, directory: Path, address: str, aggregator: ComparingAggregator) -> None:
        self.aggregator = aggregator
        self.agent = AgentProcess(directory, address, serve="Stable")
        self.engine = FollowingEngine(self.agent.shared)
        self.agent.state.mkdir()
        for number in (2, 3):
            (self.agent.state / f"version-{number}.safetensors").write_bytes(weights(number))

    def blocks(self) -> tuple[Block, ...]:
        return union(*(evidence.blocks for evidence in list(self.aggregator.evidence)))

    def requests(self) -> tuple[Request, ...]:
        return union(*(evidence.requests for evidence in list(self.aggregator.evidence)))

    def live(self) -> str:
        """Return what the engine has swapped to last."""
        return self.engine.swapped[-1][1] if self.engine.swapped else "stock"

    def stays_on_stable(self) -> bool:
        """Say whether stable has been live for longer than two blocks, one of which is a trial."""
        at, live = self.engine.swapped[-1]
        return live == digest(2) and time.monotonic() - at > 2 * TOLD.block_seconds

    def wait_for_blocks(self, number: int) -> None:
        eventually(
            lambda: len({one.block for one in self.blocks()}) >= number,
            what=f"{number} blocks",
            log=self.agent.log,
        )


@pytest.fixture
def comparing(tmp_path: Path) -> Iterator[Comparing]:
    aggregator = ComparingAggregator(REPLY)
    with ExitStack() as stack:
        address = stack.enter_context(aggregator.listening())
        comparing = Comparing(tmp_path, address, aggregator)
        stack.enter_context(comparing.engine.serving())
        stack.enter_context(closing_all(comparing.agent))
        comparing.agent.start(SPECFLEET_AGENT_TRAIN="false")
        yield comparing


def test_an_engine_alternates_and_what_it_did_is_told(comparing: Comparing) -> None:
    digests = {Arm.TRIAL: digest(3), Arm.BASE: digest(2)}

    comparing.wait_for_blocks(4)

    blocks, requests = comparing.blocks(), comparing.requests()
    counted = counted_blocks(TOLD.plan, digests, blocks)
    assert counted == blocks
    assert {one.digest for one in counted} == set(digests.values())
    assert all(one.verify_steps > 0 and one.tokens == 2 * one.verify_steps for one in counted)
    assert {one.digests for one in counted_requests(TOLD.plan, digests, requests)} == {
        (digest(2),),
        (digest(3),),
    }
    assert comparing.agent.resident_bytes() < MAX_RESIDENT_BYTES


def test_swaps_follow_the_borders_of_blocks(comparing: Comparing) -> None:
    comparing.wait_for_blocks(4)

    began, seconds = comparing.aggregator.began, TOLD.block_seconds
    # A little early is as good as a little late: the clock of the aggregator is estimated.
    away = [
        abs((at - began + seconds / 2) % seconds - seconds / 2)
        for at, _ in comparing.engine.swapped[1:]
    ]
    # The machine that runs the tests may be busy; half of them come before it shows.
    assert sorted(away)[len(away) // 2] < TOLD.washout_seconds


def test_an_agent_that_loses_its_aggregator_goes_back_to_stable(
    comparing: Comparing,
) -> None:
    comparing.wait_for_blocks(2)
    eventually(lambda: comparing.live() == digest(3), what="the trial arm", log=comparing.agent.log)

    comparing.aggregator.answers = False

    eventually(comparing.stays_on_stable, what="stable, for two blocks", log=comparing.agent.log)
