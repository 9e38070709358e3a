"""Aggregator, agents and trainers take a simulated engine for a real one: they learn from it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.engines import ROOT
from e2e.fleets import prepare, ready, running, write_manifest
from e2e.observing import Observer
from e2e.simulator.running import simulated
from specfleet_cli.traffic.prompts import read_documents

pytestmark = pytest.mark.e2e

VERSIONS = 2
PATIENCE_SECONDS = 240.0
LOAD = Load(clients=6, max_tokens=48)


def learn_fast(spec: dict[str, Any]) -> None:
    """Shorten the rounds, and let drafters that have learnt draft better."""
    spec["aggregation"]["localSteps"] = 20
    acceptance = '{"stock": [0.5, 0.2, 0.1], "default": [0.9, 0.8, 0.7]}'
    spec["engine"]["env"].append({"name": "SIMULATOR_ACCEPTANCE", "value": acceptance})


def num_run(observer: Observer, worker: str) -> int:
    """Return how many versions after stock an engine was seen to run."""
    new = [version for version in observer.published if version.number > 0]
    return sum(observer.has_run(worker, version) for version in new)


async def test_trainers_learn_from_simulated_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", simulated(os.environ)["PYTHONPATH"])
    documents = read_documents(ROOT / "examples/text/hi.jsonl")
    out = tmp_path / "fleet"
    prepare(out)
    manifest = write_manifest(ROOT / "examples/fleet.yaml", out, change=learn_fast)

    with running(manifest, out) as process:
        fleet = await ready(process, out)
        (push,) = (worker for worker in fleet.workers if worker.train)
        observer = Observer(fleet)
        observing = asyncio.create_task(observer.observe())
        with running_traffic(push.engine.url, LOAD, documents) as driver:
            came = await observer.until(
                lambda: num_run(observer, push.name) >= VERSIONS, seconds=PATIENCE_SECONDS
            )
            (window,) = await asyncio.to_thread(driver.windows)
        observing.cancel()

    assert came is not None, (out / "logs" / f"agent-{push.name}.log").read_text()[-4000:]
    assert_no_failures(window, minimum=50)
    assert_same_answers(window)
