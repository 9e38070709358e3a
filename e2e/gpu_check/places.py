"""Where the check runs: on a GPU, or rehearsed on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from e2e.engines import Engine, running_engine
from e2e.parity import EXACT, Bounds

CHUNK_TOKENS = 64
"""A budget below most prompts, so that prefills come in chunks."""
STAND_INS = Path(__file__).parent.parent / "stand_ins"
RUNNERS = {"v1": "0", "v2": "1"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where engines run, and what may be expected of them there."""

    name: str
    environment: Mapping[str, Mapping[str, str]]
    """By runner."""
    dtype: str
    eager: bool
    bounds: Bounds
    margin: float
    """How far behind the target's first choice an emitted token may be, in nats."""
    documents: int
    """Of each language."""
    tensor_parallel: int = 1


GPU = Place(
    name="gpu",
    environment={
        name: {"VLLM_USE_V2_MODEL_RUNNER": value, "SPECFLEET_ENGINE_TRY_CUDA": "1"}
        for name, value in RUNNERS.items()
    },
    dtype="bfloat16",
    eager=False,
    # Logits of 4 sigmas are 0.03 apart in bfloat16.
    bounds=Bounds(least_equal=0.95, near_tie_sigmas=0.05),
    margin=0.1,
    documents=8,
)
REHEARSAL = Place(
    name="rehearsal",
    environment={
        name: {
            "VLLM_USE_V2_MODEL_RUNNER": value,
            "TRITON_INTERPRET": value,
            "SPECFLEET_E2E_LATE": "1",
            "PYTHONPATH": str(STAND_INS),
        }
        for name, value in RUNNERS.items()
    },
    dtype="float32",
    eager=True,
    bounds=EXACT,
    margin=1e-3,
    documents=2,
)


def engine_at(
    place: Place, folder: Path, environment: Mapping[str, str]
) -> AbstractContextManager[Engine]:
    """Run an engine there."""
    return running_engine(
        folder,
        *("--max-num-batched-tokens", str(CHUNK_TOKENS)),
        *("--tensor-parallel-size", str(place.tensor_parallel)),
        # The same prompts come again and again, and have to be captured whole each time.
        "--no-enable-prefix-caching",
        environment=environment,
        dtype=place.dtype,
        eager=place.eager,
    )
