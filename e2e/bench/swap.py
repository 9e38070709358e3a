"""How long an engine stands still for new weights, and how long the thread beside it prepares them.

In a real engine of the small model, and at 120 million parameters on tensors laid out as vLLM's.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from e2e.bench.engine import engine_in_process
from e2e.bench.shapes import FULL, Shape
from e2e.bench.timing import repeated
from specfleet_engine.layouts.mimo import MimoLayout
from specfleet_engine.layouts.stacking import Stacking
from specfleet_engine.weights.live import LiveDrafter

RANK_PREFIX = "model.mtp_layers.0."


def measure(_folder: Path) -> dict[str, Any]:
    """Time staging and applying."""
    own, layout = _live_parameters(FULL)
    large = _swap(LiveDrafter(own, layout))
    del own
    with engine_in_process() as engine:
        small = _swap(engine.probe.live_drafter())
    return {"tiny-mimo": small, FULL.name: large}


def _swap(drafter: LiveDrafter) -> dict[str, Any]:
    """Apply the drafter's own weights to it: the work is the same as with others."""
    data, digest = drafter.stock, drafter.stock_digest
    staged = drafter.stage(data, digest)
    return {
        "bytes": len(data),
        "stage": asdict(repeated(lambda: drafter.stage(data, digest), at_least=5, seconds=1)),
        "apply": asdict(repeated(lambda: drafter.apply(staged), at_least=10, seconds=1)),
        "check": asdict(repeated(drafter.holds_what_it_should, at_least=5, seconds=1)),
    }


def _live_parameters(shape: Shape) -> tuple[dict[str, nn.Parameter], MimoLayout]:
    """Return a drafter's own parameters in bfloat16 as vLLM stacks them, and their layout."""
    query, key_value = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    sizes: dict[str, tuple[int, ...]] = {
        "input_proj.weight": (shape.hidden, 2 * shape.hidden),
        "mtp_block.self_attn.qkv_proj.weight": (query + 2 * key_value, shape.hidden),
        "mtp_block.self_attn.qkv_proj.bias": (query + 2 * key_value,),
        "mtp_block.self_attn.o_proj.weight": (shape.hidden, query),
        "mtp_block.mlp.gate_up_proj.weight": (2 * shape.intermediate, shape.hidden),
        "mtp_block.mlp.down_proj.weight": (shape.hidden, shape.intermediate),
    }
    own = {
        RANK_PREFIX + name: nn.Parameter(torch.randn(size).bfloat16(), requires_grad=False)
        for name, size in sizes.items()
    }
    stacking = Stacking(query_rows=query, key_value_rows=key_value, gate_rows=shape.intermediate)
    return own, MimoLayout(rank_prefix=RANK_PREFIX, stacking=stacking)
