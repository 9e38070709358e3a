"""The parts as the command runs them, on sizes that take no time."""

from __future__ import annotations

import importlib

import pytest

from e2e.bench.__main__ import parse
from e2e.bench.parts import PARTS
from e2e.bench.peaks import MeasuredPeaks
from e2e.bench.shapes import Shape
from e2e.bench.trainer import measure_steps

SLOW_PEAKS = MeasuredPeaks(1e9, 2e9, 1e9)


def test_all_parts_are_measured_unless_some_are_named() -> None:
    assert parse([]).parts == tuple(PARTS)
    assert parse(["--only", "trainer,swap"]).parts == ("trainer", "swap")


def test_a_part_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "trainer,memory"])

    assert "'memory' is none of machine, trainer" in capsys.readouterr().err


@pytest.mark.parametrize("name", PARTS)
def test_every_part_can_be_measured(name: str) -> None:
    assert callable(importlib.import_module(f"e2e.bench.{name}").measure)


def test_a_step_is_compared_with_the_plain_one_and_with_the_roofline() -> None:
    shape = Shape("small", 32, 16, 24, 2, 1, 8)

    figures = measure_steps(shape, lambda: SLOW_PEAKS, blocks=1)

    (block,) = figures["blocks"]
    assert figures["compute_type"] == "float32"
    assert figures["speedup"] == block["plain_step_seconds"] / block["step_seconds"]
    assert figures["roofline_share"] == block["least_seconds"] / block["step_seconds"]
