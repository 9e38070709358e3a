"""A soak of minutes: a fleet under traffic and kills in which nothing grows and nothing is lost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from rich.console import Console

from e2e.fleets import prepare
from e2e.live import Stage, View
from e2e.report.writing import write_report
from e2e.soak.fleet import Options
from e2e.soak.processes import AGENT, AGGREGATOR, ENGINE, RUN, TRAINER
from e2e.soak.readings import MEMORY
from e2e.soak.soaking import RUNNING, STARTING, STOPPING, soak

OPTIONS = Options(
    seconds=170.0,
    kill_every_seconds=12.0,
    read_every_seconds=1.0,
    local_steps=10,
    push_engines=0,
    clients=2,
    seed=1,
    real=False,
)


@pytest.mark.e2e
@pytest.mark.long
async def test_nothing_grows_while_processes_are_killed(tmp_path: Path) -> None:
    out = tmp_path / "soak"
    prepare(out)
    stages = [Stage(STARTING, 30.0), Stage(RUNNING, OPTIONS.seconds), Stage(STOPPING, 10.0)]

    with View(Console(), stages, clock=time.monotonic) as view:
        view.begin(STARTING)
        report, page, facts = await soak(out, OPTIONS, view)
    write_report(out, report, page)

    assert report["problems"] == [], out
    assert len(facts.revivals) >= 3
    judged = {one.kind for one in facts.growths if one.quantity == MEMORY and one.within_lives}
    assert judged == {RUN, AGGREGATOR, ENGINE, AGENT, TRAINER}
    assert "Nothing has grown." in page
