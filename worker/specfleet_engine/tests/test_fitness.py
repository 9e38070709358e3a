"""Engines that the plugin leaves alone, and what it says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specfleet_engine.fitness import Facts, unfitness

PAGE = Path(__file__).parents[3] / "docs/gpu.md"

CPU = Facts("cpu", 1, 1, can_sleep=False, is_quantized=False)
CUDA = replace(CPU, device="cuda")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param(CPU, None, id="cpu"),
        pytest.param(
            replace(CPU, device="xpu"), "the model is on xpu, expected cpu or cuda", id="device"
        ),
        pytest.param(
            replace(CPU, pipeline_parallel=2),
            "pipeline parallelism is over 2 ranks, expected 1",
            id="pipeline",
        ),
        pytest.param(
            replace(CPU, data_parallel=4), "data parallelism is over 4 ranks, expected 1", id="data"
        ),
        pytest.param(
            replace(CPU, can_sleep=True),
            "sleep mode is on, expected off: weights that are asleep cannot be read",
            id="sleep",
        ),
        pytest.param(
            replace(CPU, is_quantized=True),
            "the drafter is quantized, expected the plain weights that a trainer can change",
            id="quantized",
        ),
    ],
)
def test_unfitness(facts: Facts, reason: str | None) -> None:
    assert unfitness(facts, try_cuda=False) == reason


def test_a_gpu_is_left_alone_unless_told_otherwise() -> None:
    refused = unfitness(CUDA, try_cuda=False)

    assert refused is not None
    assert "unless SPECFLEET_ENGINE_TRY_CUDA is 1" in refused
    assert unfitness(CUDA, try_cuda=True) is None


def test_the_page_has_the_words() -> None:
    unfit = [
        replace(CPU, device="xpu"),
        replace(CPU, pipeline_parallel=2),
        replace(CPU, can_sleep=True),
        replace(CPU, is_quantized=True),
        CUDA,
    ]

    missing = [
        reason
        for facts in unfit
        if (reason := str(unfitness(facts, try_cuda=False))) not in PAGE.read_text()
    ]

    assert missing == [], "docs/gpu.md tells what is refused in other words"
