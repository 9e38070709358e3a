"""Every panel of every dashboard shows something of a fleet that learns and judges."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.dashboards.asking import Answer, Shown, ask
from e2e.dashboards.operating import operator_of
from e2e.dashboards.prometheus import Prometheus, running_prometheus
from e2e.dashboards.results import missed
from e2e.promoting.simulated import judging_fleet
from specfleet_cli.scraping import FILE_NAME as TARGETS_FILE
from specfleet_cli.scraping import NAMESPACE
from tools.dashboards.pages import DASHBOARDS

pytestmark = pytest.mark.e2e

FLEET = "demo"
SCRAPE_SECONDS = 1.0
PATIENCE_SECONDS = 600.0


async def test_no_panel_of_a_fleet_that_learns_and_judges_is_empty(
    tmp_path: Path, api_server: ControlPlane
) -> None:
    out = tmp_path / "fleet"
    began = time.time()
    with (
        operator_of(FLEET, api_server, tmp_path / "operator") as operator,
        running_prometheus(
            tmp_path / "prometheus",
            targets_file=out / TARGETS_FILE,
            targets=(operator,),
            scrape_seconds=SCRAPE_SECONDS,
        ) as server,
    ):
        async with judging_fleet(out, engines=2):
            answers = await answers_without_gaps(server, began)
            rules = server.rules()

    assert missed(answers) == []
    assert rules
    assert "err" not in rules.values(), rules


async def answers_without_gaps(server: Prometheus, began: float) -> tuple[Answer, ...]:
    """Ask until nothing is missed; return the last answers, whatever they are."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        shown = Shown(NAMESPACE, FLEET, began, time.time(), 5.0, SCRAPE_SECONDS)
        answers = await asyncio.to_thread(ask, server, DASHBOARDS, shown)
        if not missed(answers) or time.monotonic() > deadline:
            return answers
        await asyncio.sleep(1.0)
