"""An agent as a real process looks after a trainer that dies, grows or hangs."""

from __future__ import annotations

import os
import signal

from specfleet_agent.tests.processes import (
    AgentProcess,
    eventually,
)


def test_a_killed_trainer_is_back_within_seconds(lonely: AgentProcess) -> None:
    lonely.start()
    first = eventually(lonely.trainer, what="a trainer")

    os.kill(first, signal.SIGKILL)

    eventually(lambda: lonely.trainer() not in (None, first), what="another trainer")
    assert lonely.get("/healthz")[0] == 200


def test_a_growing_trainer_is_killed_before_the_kernel_would(lonely: AgentProcess) -> None:
    lonely.start(FAKE_TRAINER="grow", SPECFLEET_AGENT_TRAINER_MEMORY_BYTES=str(160 << 20))

    sample = 'specfleet_agent_trainer_restarts_total{cause="memory"}'
    eventually(lambda: lonely.metric(sample) == 1.0, what="killed", log=lonely.log)
    assert lonely.get("/healthz")[0] == 200


def test_a_hanging_trainer_is_killed(lonely: AgentProcess) -> None:
    lonely.start(FAKE_TRAINER="hang", SPECFLEET_AGENT_TRAINER_SILENCE_SECONDS="0.5")

    sample = 'specfleet_agent_trainer_restarts_total{cause="hang"}'
    eventually(lambda: lonely.metric(sample) == 1.0, what="killed", log=lonely.log)


def test_no_zombies_are_left(lonely: AgentProcess) -> None:
    lonely.start(FAKE_TRAINER="orphan")
    eventually(lambda: lonely.log().count("trainer_started") >= 3, what="three trainers")

    eventually(lambda: "Z" not in lonely.children().values(), what=f"{lonely.children()}")
