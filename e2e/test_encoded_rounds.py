"""Rounds of real processes, aggregator, agent and trainer, whose deltas and versions are encoded.

Only the engine is pretended: what it captured lies in the ring, and nobody serves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from specfleet_agent.tests.builders import page_content
from specfleet_agent.tests.processes import (
    AgentProcess,
    AggregatorProcess,
    closing_all,
    eventually,
)
from specfleet_common.exchange import TRAINER_STATE
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.shm.pages import PageWriter
from specfleet_common.shm.ring import RingWriter
from specfleet_common.tensors import content_digest, encode
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import FleetState
from specfleet_trainer.heads import new_head
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import CONFIG, HIDDEN, random_weights, write_model

ROUNDS = 3
REQUESTS = 30
REAL_TRAINER = "[]"
TRAINER_SECONDS = 240.0
"""It yields to everything else, and imports torch first."""


pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True)
class Story:
    """What agent and trainer logged, what the aggregator shows, and what the trainer owes."""

    log: tuple[dict[str, Any], ...]
    state: FleetState
    is_owing: bool

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the entries of one event."""
        return [entry for entry in self.log if entry["event"] == event]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Let a worker train some rounds, and kill its agent in the middle, the trainer with it."""
    directory = tmp_path_factory.mktemp("rounds")
    aggregator = AggregatorProcess(directory, codec="Ternary", local_steps=3, rows_per_step=64)
    address = aggregator.start()
    write_model(directory / "model")
    agent = AgentProcess(directory, address)
    ring = leave_engine(agent.shared)
    with closing_all(aggregator, agent):
        agent.start(SPECFLEET_AGENT_TRAINER_COMMAND=REAL_TRAINER)
        engine.serve(ring, REQUESTS)
        await_version(agent, 1)
        # A fast trainer may be rounds ahead by now; what counts is that the next one goes on.
        before = int(agent.metric("specfleet_agent_version") or 0)
        agent.kill()
        engine.serve(ring, REQUESTS, first=REQUESTS)
        agent.start(SPECFLEET_AGENT_TRAINER_COMMAND=REAL_TRAINER)
        await_version(agent, before + ROUNDS)
        agent.stop()
        # Only now: what the agent has counted, the aggregator has counted too.
        state = asyncio.run(first_state(address))
        with safe_open(agent.state / TRAINER_STATE, framework="np") as file:
            is_owing = any(name.startswith("residual.") for name in list(file.keys()))
    return Story(tuple(entries(agent.log())), state, is_owing)


def leave_engine(shared: Path) -> RingWriter:
    """Leave what an engine leaves when it starts, and return the ring that it writes to."""
    weights = random_weights(new_head("mtp", "mimo", CONFIG))
    shapes = {name: array.shape for name, array in weights.items()}
    lineage = Lineage("1" * 64, "mtp", "mimo", "bfloat16", shapes_digest(shapes))
    stock = encode(weights, "bfloat16")
    (shared / "stock.safetensors").write_bytes(stock)
    ring = engine.new_ring(shared, lineage.id)
    content = page_content(lineage=lineage, observed_digest=content_digest(stock))
    rows = content["rows"] | {"hidden_size": HIDDEN}
    page = PageWriter.create(shared / "rank-0.page")
    page.write(content | {"rows": rows, "stock_digest": content_digest(stock)})
    return ring


def await_version(agent: AgentProcess, number: int) -> None:
    eventually(
        lambda: (agent.metric("specfleet_agent_version") or 0) >= number,
        what=f"version {number}",
        log=agent.log,
        seconds=TRAINER_SECONDS,
    )


async def first_state(address: str) -> FleetState:
    async with AggregatorClient(address) as client:
        return await anext(client.watch_state())


def entries(log: str) -> Iterator[dict[str, Any]]:
    for line in log.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def test_every_delta_is_encoded_as_the_fleet_wants_it_and_counts(told: Story) -> None:
    pushed = told.of("push_delta")

    assert len(pushed) >= ROUNDS
    assert {(entry["codec"], entry["outcome"]) for entry in pushed} == {("Ternary", "accepted")}


def test_the_trainer_keeps_what_rounding_took_across_its_death(told: Story) -> None:
    assert told.of("state_restored")
    assert told.is_owing


def test_versions_come_as_patches_to_those_that_are_here(told: Story) -> None:
    pulled = {entry["number"]: entry for entry in told.of("pull")}

    assert not pulled[0]["is_patch"]
    assert all(pulled[number]["is_patch"] for number in range(1, ROUNDS + 1))
    assert all(
        pulled[number]["received_bytes"] < pulled[0]["received_bytes"]
        for number in range(1, ROUNDS + 1)
    )


def test_the_aggregator_counts_the_bytes_of_both_directions(told: Story) -> None:
    pushed = sum(entry["sent_bytes"] for entry in told.of("push_delta"))
    pulled = sum(entry["received_bytes"] for entry in told.of("pull"))

    assert told.state.received_bytes >= pushed > 0
    assert told.state.sent_bytes >= pulled > 0
