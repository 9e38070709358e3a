"""Moving a drafter of 120 million parameters through a fleet: time, bytes and memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from e2e.bench import aggregation, delivery, rounds
from e2e.bench.drafter import DELTA_DEVIATION, DTYPE, WEIGHT_DEVIATION, random_tensors
from specfleet_common import tensors
from specfleet_common.codecs.codec import Codec


def measure(folder: Path) -> dict[str, Any]:
    """Measure each part with the product's code, and the processes as a fleet runs them."""
    stock, local = folder / "stock.safetensors", folder / "local.safetensors"
    encoded = {codec: folder / f"delta-{codec.value}" for codec in Codec}

    weights = random_tensors(1, deviation=WEIGHT_DEVIATION)
    delta = random_tensors(2, deviation=DELTA_DEVIATION)
    stock.write_bytes(tensors.encode(weights, DTYPE))
    local.write_bytes(tensors.encode({n: weights[n] - delta[n] for n in weights}, DTYPE))
    sizes = {codec.value: aggregation.encode(delta, codec, encoded[codec]) for codec in Codec}
    del weights, delta

    steps = {}
    for codec, path in encoded.items():
        state, steps[codec.value] = aggregation.outer(stock, path, codec)
    return {
        "delta": sizes,
        "outer_step_of_six": steps,
        "outer_step_by_rule": aggregation.combining(stock, encoded[Codec.FLOAT32]),
        "store_write_seconds": aggregation.store_writes(folder, state),
        "rounds_of_six": asyncio.run(rounds.measure(folder, encoded)),
        "agent": delivery.measure(folder / "agent", stock, encoded[Codec.FLOAT32], local),
    }
