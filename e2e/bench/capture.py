"""What capturing costs an engine: time per step, and share of the tokens/s.

One engine answers the same prompts with and without capture, in blocks of random order: what a user
would notice, and as noisy as the machine. The share of the processor time of the engine's thread is
the figure to compare.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from e2e.bench.engine import Clock, Engine, engine_in_process
from e2e.blocks import Block, overall_speed, paired_gain, plan
from e2e.documents import beginnings, seen
from specfleet_common.shm.names import RING_FILE
from specfleet_common.shm.ring import RingReader

PROMPTS = 32
MAX_TOKENS = 64
ROUNDS = 12
WITH, WITHOUT = "with", "without"


def measure(folder: Path) -> dict[str, Any]:
    """Run the blocks; `folder` is where the plugin's shared memory lies."""
    prompts = beginnings(seen("hi"))[:PROMPTS]
    with engine_in_process() as engine:
        ring = RingReader.attach(folder / RING_FILE)
        _block(engine, ring, prompts, Clock(), round_=0, arm=WITH)
        probe = engine.probe
        probe.reset()
        threads = {WITH: Clock(), WITHOUT: Clock()}
        blocks = [
            _block(engine, ring, prompts, threads[arm], round_=number, arm=arm)
            for number, order in enumerate(plan((WITH, WITHOUT), rounds=ROUNDS, seed=1))
            for arm in order
        ]
        counts = probe.capture.counts
    # Both arms make the same steps; the plugin counts what was accepted in both.
    steps = probe.step.calls / 2
    step_seconds = threads[WITH].seconds / steps
    capture_seconds = probe.capture.clock.seconds / steps
    other_seconds = (probe.plugin_seconds - probe.capture.clock.seconds) / probe.step.calls
    return {
        "step_milliseconds": 1e3 * step_seconds,
        "capture_microseconds_per_step": 1e6 * capture_seconds,
        "capture_percent": 100 * capture_seconds / step_seconds,
        "plugin_microseconds_per_step": 1e6 * (capture_seconds + other_seconds),
        "plugin_percent": 100 * (capture_seconds + other_seconds) / step_seconds,
        "tokens_per_second_with": overall_speed(blocks, WITH),
        "tokens_per_second_without": overall_speed(blocks, WITHOUT),
        "tokens_per_second_change": asdict(paired_gain(blocks, WITH, WITHOUT, seed=1)),
        "requests": counts.requests,
        "rows": counts.taken_rows,
        "dropped_records": counts.dropped_records,
    }


def _block(
    engine: Engine, ring: RingReader, prompts: list[str], thread: Clock, *, round_: int, arm: str
) -> Block:
    """Answer the prompts once; what was captured is taken away afterwards, as a trainer would."""
    engine.probe.capture.is_on = arm == WITH
    began = time.perf_counter()
    tokens = thread.timed(engine.complete)(prompts, max_tokens=MAX_TOKENS)
    seconds = time.perf_counter() - began
    engine.settle()
    while ring.read() is not None:
        pass
    return Block(round_, arm, seconds, tokens, verify_steps=0, accepted=0)
