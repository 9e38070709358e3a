"""The agent as a real process, with a fake trainer, a real aggregator, and files for an engine."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from specfleet_agent.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    page_content,
    start_engine,
    weights,
)
from specfleet_agent.tests.processes import (
    NOBODY_LISTENS,
    AgentProcess,
    AggregatorProcess,
    closing_all,
    eventually,
    is_alive,
)
from specfleet_common.exchange import ORDERS, Orders, read_message
from specfleet_common.shm.bank import BankReader
from specfleet_common.tensors import content_digest, encode
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import FleetState

MAX_RESIDENT_BYTES = 150 << 20


@pytest.fixture
def aggregator(tmp_path: Path) -> Iterator[AggregatorProcess]:
    aggregator = AggregatorProcess(tmp_path)
    with closing_all(aggregator):
        yield aggregator


def held_version(agent: AgentProcess) -> int:
    version = agent.metric("specfleet_agent_version")
    return -1 if version is None else int(version)


def live_workers(address: str) -> tuple[str, ...]:
    """Return the workers that hold a lease."""

    async def first_state() -> FleetState:
        async with AggregatorClient(address) as client:
            return await anext(client.watch_state())

    return tuple(worker.worker_id for worker in asyncio.run(first_state()).workers if worker.live)


def bank_labels(agent: AgentProcess) -> str | None:
    """Return the label of the newest entry of the bank."""
    path = agent.shared / "weights.bank"
    entry = BankReader.attach(path).read() if path.exists() else None
    return None if entry is None else entry.label


def test_an_engine_that_comes_late_is_trained_and_served(
    tmp_path: Path, aggregator: AggregatorProcess
) -> None:
    agent = AgentProcess(tmp_path, aggregator.start())
    with closing_all(agent):
        agent.start()
        health_without_engine = agent.get("/healthz")
        start_engine(agent.shared)

        eventually(lambda: held_version(agent) >= 2, what="two rounds", log=agent.log)
        eventually(lambda: bank_labels(agent) == "local", what="local weights", log=agent.log)
        orders = read_message(agent.state / ORDERS, Orders)
        resident_bytes = agent.resident_bytes()
        trainer = agent.trainer()
        status = agent.stop()

    assert health_without_engine[0] == 200
    assert orders is not None and orders.lineage_id == LINEAGE.id
    assert resident_bytes < MAX_RESIDENT_BYTES
    assert trainer is not None and not is_alive(trainer)
    assert status == 0


def test_an_agent_without_its_token_or_with_a_wrong_one_says_so_and_tries_until_it_is_right(
    tmp_path: Path,
) -> None:
    shared, own = tmp_path / "shared-token", tmp_path / "own-token"
    shared.write_text("right")
    aggregator = AggregatorProcess(tmp_path, token_file=shared)
    agent = AgentProcess(tmp_path, aggregator.start(), serve="Stable")
    refused = 'specfleet_agent_heartbeats_total{result="unauthorized"}'
    with closing_all(aggregator, agent):
        start_engine(agent.shared)
        agent.start(SPECFLEET_AGENT_TOKEN_FILE=str(own))
        eventually(lambda: f"{own}: cannot be read" in agent.get("/healthz")[1], what="no token")
        own.write_text("wrong")
        eventually(lambda: (agent.metric(refused) or 0) >= 2, what="refusals", log=agent.log)
        health = agent.get("/healthz")

        own.write_text("right")

        eventually(lambda: held_version(agent) >= 0, what="a version", log=agent.log)
        assert agent.get("/healthz") == (200, "ok\n")

    assert health[0] == 200
    assert "unauthorized: UNAUTHENTICATED: the token is not the one" in health[1]
    assert "wrong" not in agent.log()


def test_a_killed_agent_comes_back_as_the_same_worker_and_replaces_a_corrupt_version(
    tmp_path: Path,
) -> None:
    # With a quorum of two, the round stays open: the version cannot change meanwhile.
    aggregator = AggregatorProcess(tmp_path, quorum_minimum=2)
    address = aggregator.start()
    agent = AgentProcess(tmp_path, address, serve="Stable")
    with closing_all(aggregator, agent):
        start_engine(agent.shared)
        agent.start()
        eventually(lambda: held_version(agent) == 0, what="version 0", log=agent.log)
        version = agent.state / "version-0.safetensors"
        trainer = agent.trainer()
        assert trainer is not None
        agent.kill()
        eventually(lambda: not is_alive(trainer), what="the trainer ends with its agent")
        version.write_bytes(weights(9))

        agent.start()

        eventually(
            lambda: content_digest(version.read_bytes()) == STOCK_DIGEST,
            what="the version is fetched again",
            log=agent.log,
        )
        assert live_workers(address) == ("worker-1",)


def test_an_aggregator_that_comes_late_and_is_killed_is_tried_for_ever(
    tmp_path: Path, aggregator: AggregatorProcess
) -> None:
    agent = AgentProcess(tmp_path, aggregator.address)
    with closing_all(agent):
        start_engine(agent.shared)
        agent.start()
        eventually(lambda: "aggregator_does_not_answer" in agent.log(), what="nobody answers")
        aggregator.start()
        before = eventually(
            lambda: held_version(agent) >= 1 and held_version(agent), what="a round"
        )
        aggregator.kill()
        eventually(lambda: agent.metric("specfleet_agent_connected") == 0.0, what="it is noticed")
        health, trainer = agent.get("/healthz"), agent.trainer()

        aggregator.start()

        eventually(lambda: held_version(agent) > before, what="rounds go on", log=agent.log)

    assert health[0] == 200
    assert trainer is not None


@pytest.mark.parametrize("address", [NOBODY_LISTENS, "no-such-host.invalid:1"])
def test_an_unreachable_aggregator_does_not_make_the_agent_unhealthy(
    tmp_path: Path, address: str
) -> None:
    agent = AgentProcess(tmp_path, address)
    with closing_all(agent):
        start_engine(agent.shared)
        agent.start()

        sample = 'specfleet_agent_heartbeats_total{result="unreachable"}'
        eventually(lambda: (agent.metric(sample) or 0) >= 3, what="it keeps trying", log=agent.log)

        assert agent.get("/healthz")[0] == 200


def test_corrupt_stock_is_not_handed_in_and_the_log_says_why(
    tmp_path: Path, aggregator: AggregatorProcess
) -> None:
    agent = AgentProcess(tmp_path, aggregator.start())
    with closing_all(agent):
        start_engine(agent.shared)
        (agent.shared / "stock.safetensors").write_bytes(weights(9))
        agent.start()

        eventually(
            lambda: f"expected {STOCK_DIGEST[:8]}: it is not handed in" in agent.log(),
            what="the reason",
            log=agent.log,
        )
        eventually(lambda: agent.metric("specfleet_agent_connected") == 1.0, what="heartbeats")

        assert agent.metric('specfleet_agent_transfers_total{kind="put_stock",result="ok"}') == 0.0
        assert not list(aggregator.store.rglob("*.safetensors"))


def test_an_engine_that_starts_again_finds_its_weights(
    tmp_path: Path, aggregator: AggregatorProcess
) -> None:
    agent = AgentProcess(tmp_path, aggregator.start())
    with closing_all(agent):
        start_engine(agent.shared)
        agent.start()
        before = eventually(
            lambda: held_version(agent) >= 1 and held_version(agent), what="a round"
        )

        engine = start_engine(agent.shared)
        engine.write(page_content() | {"swaps": 17})

        eventually(
            lambda: agent.metric("specfleet_agent_swaps_total") == 17.0,
            what="the new engine's page",
        )
        eventually(lambda: held_version(agent) > before, what="rounds go on", log=agent.log)
        assert bank_labels(agent) in ("local", "version")


def test_delivering_a_large_drafter_takes_no_memory_for_it(lonely: AgentProcess) -> None:
    large = encode({"model.mtp_layers.0.input_proj.weight": np.ones((24, 1 << 20), np.float32)})
    engine = start_engine(lonely.shared)
    engine.write(page_content(observed="local") | {"stock_digest": content_digest(large)})
    (lonely.shared / "stock.safetensors").write_bytes(large)
    lonely.start(SPECFLEET_AGENT_SERVE="Stock")

    eventually(lambda: bank_labels(lonely) == "stock", what="stock in the bank", log=lonely.log)

    peak_bytes = lonely.peak_resident_bytes()
    lonely.kill()
    shutil.rmtree(lonely.shared)
    assert peak_bytes < MAX_RESIDENT_BYTES
