"""Live comparisons on simulated engines end, within seconds, as the test has set the drafters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e.engines import Engine, running_engine
from e2e.simulator.running import set_behaviour, simulated
from specfleet_common.judge.canary import LiveComparison, judge_canary
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.records import Block, batch_band
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.judge.verdicts import Outcome
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.tensors import content_digest, decode, encode

pytestmark = pytest.mark.e2e

FAST = {"SIMULATOR_STEP_SECONDS": "0.005", "SIMULATOR_TTFT_SECONDS": "0.01"}
CLIENTS = 6
BLOCK_SECONDS = 0.5
PAIRS = 14


@contextmanager
def busy(engine: Engine) -> Iterator[None]:
    """Keep an engine busy with some clients that ask one request after the other."""
    stop = threading.Event()

    def ask(client: int) -> None:
        number = 0
        while not stop.is_set():
            engine.complete([f"Question {number} of client {client}"], max_tokens=48)
            number += 1

    clients = [threading.Thread(target=ask, args=(one,)) for one in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        stop.set()
        for client in clients:
            client.join()


def bands_of(page: dict[str, Any], name: str) -> dict[int, dict[str, Any]]:
    """Return what a drafter did by batch band."""
    found = (one["bands"] for one in page["drafters"] if one["digest"] == name)
    return {one["band"]: one for one in next(found, [])}


def one_block(engine: Engine, number: int, name: str, digest: str) -> list[Block]:
    """Return what the engine does until it was busy for the time of a block."""
    before = bands_of(engine.page(), name)
    worked = float(sum(one["busy_seconds"] for one in before.values()))

    def seconds(page: dict[str, Any]) -> float:
        bands = bands_of(page, name)
        return float(sum(one["busy_seconds"] for one in bands.values())) - worked

    page = engine.wait(lambda page: seconds(page) >= BLOCK_SECONDS, what="busy for a block")
    return [
        Block(
            engine="simulated",
            block=number,
            band=band,
            digest=digest,
            swaps=1,
            busy_seconds=after["busy_seconds"] - base(before, band)["busy_seconds"],
            tokens=after["output_tokens"] - base(before, band)["output_tokens"],
            verify_steps=after["verify_steps"] - base(before, band)["verify_steps"],
        )
        for band, after in bands_of(page, name).items()
    ]


def base(bands: dict[int, dict[str, Any]], band: int) -> dict[str, Any]:
    """Return where a band's counters were, at zero before its first step."""
    return bands.get(band, {"busy_seconds": 0.0, "output_tokens": 0, "verify_steps": 0})


@pytest.mark.parametrize(
    ("acceptance", "drafter_seconds", "outcome"),
    [
        pytest.param([0.9, 0.7, 0.5], 0.0, Outcome.PASSED, id="better"),
        pytest.param([0.3, 0.1, 0.0], 0.0, Outcome.HARMFUL, id="worse"),
        pytest.param([0.7, 0.45, 0.3], 0.005, Outcome.HARMFUL, id="better-but-slow"),
    ],
)
def test_a_canary_finds_out_what_the_test_has_set(
    tmp_path: Path, acceptance: list[float], drafter_seconds: float, outcome: Outcome
) -> None:
    with running_engine(tmp_path, environment=simulated(environ) | FAST) as engine:
        stock = (engine.shm / STOCK_FILE).read_bytes()
        weights = encode({n: (v + 0.01).astype(np.float32) for n, v in decode(stock).items()})
        new = content_digest(weights)
        set_behaviour(
            engine.url,
            {
                "acceptance": {"stock": [0.6, 0.35, 0.2], new[:12]: acceptance},
                "drafter_seconds": {new[:12]: drafter_seconds},
            },
        )
        arms = {
            Arm.TRIAL: (weights, new, "version", new),
            Arm.BASE: (stock, content_digest(stock), "stock", "stock"),
        }
        plan = Switchback("seed", BLOCK_SECONDS, washout_seconds=0.0)
        blocks: list[Block] = []
        with busy(engine):
            for number in range(2 * PAIRS):
                data, digest, label, name = arms[plan.arm("simulated", number)]
                engine.publish(data, digest, label)
                blocks += one_block(engine, number, name, digest)

    comparison = LiveComparison(
        plan, "candidate", "stable", {arm: digest for arm, (_, digest, _, _) in arms.items()}
    )
    verdict = judge_canary(blocks, comparison, margin=0.05, budget=Budget(0.05, 0.05))
    assert verdict.outcome is outcome, verdict.sentence
    assert {block.band for block in blocks} <= {batch_band(n) for n in range(1, CLIENTS + 1)}
