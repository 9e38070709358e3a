"""Processes that several modules of tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specfleet_agent.tests.processes import NOBODY_LISTENS, AgentProcess, closing_all


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent whose aggregator does not answer."""
    agent = AgentProcess(tmp_path, NOBODY_LISTENS)
    with closing_all(agent):
        yield agent
