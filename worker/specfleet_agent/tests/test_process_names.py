"""An agent whose aggregator has a name that nobody knows yet, as while a cluster starts."""

from __future__ import annotations

from pathlib import Path

from specfleet_agent.tests.builders import start_engine
from specfleet_agent.tests.naming import name_server
from specfleet_agent.tests.processes import (
    AgentProcess,
    AggregatorProcess,
    closing_all,
    eventually,
)


def test_an_aggregator_without_a_name_is_looked_for_until_it_has_one(tmp_path: Path) -> None:
    aggregator = AggregatorProcess(tmp_path)
    port = aggregator.address.rpartition(":")[2]
    unreachable = 'specfleet_agent_heartbeats_total{result="unreachable"}'
    with name_server() as names:
        agent = AgentProcess(tmp_path, f"dns://127.0.0.1:{names.port}/aggregator.test:{port}")
        with closing_all(agent, aggregator):
            aggregator.start()
            start_engine(agent.shared)
            agent.start()
            eventually(lambda: (agent.metric(unreachable) or 0) >= 2, what="tries", log=agent.log)
            eventually(lambda: names.num_asked >= 2, what="asks for the name", log=agent.log)
            healthy, trainer = agent.get("/healthz"), agent.trainer()

            names.known = True

            connected = "specfleet_agent_connected"
            eventually(lambda: agent.metric(connected) == 1, what="answers", log=agent.log)

    assert healthy[0] == 200
    assert "unreachable" in healthy[1]
    assert trainer is not None
