"""Counts what one engine did with its traffic, and puts it into numbers. Pure."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from specfleet_cli.acceptance import Reading, acceptance_length
from specfleet_cli.traffic.comparison import Comparison


@dataclass
class Tally:
    """One engine's counts; `readings` are its speculation counters, oldest first."""

    requests: int = 0
    tokens: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    last_answer_at: float = 0.0
    """Seconds from the beginning of the traffic to the newest answer."""
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What became of one engine's traffic; `different` counts answers unlike the reference's."""

    requests: int
    errors: dict[str, int]
    tokens: int
    tokens_per_second: float
    acceptance_length: float | None
    acceptance_over_time: tuple[tuple[float, float], ...]
    compared: int
    different: int


def result(engine: str, tally: Tally, comparison: Comparison) -> EngineResult:
    """Return an engine's numbers."""
    return EngineResult(
        requests=tally.requests,
        errors=dict(tally.errors),
        tokens=tally.tokens,
        tokens_per_second=round(tally.tokens / tally.last_answer_at, 1) if tally.tokens else 0.0,
        acceptance_length=overall(tally.readings),
        acceptance_over_time=over_time(tally.readings),
        compared=comparison.compared.get(engine, 0),
        different=len(comparison.differences.get(engine, ())),
    )


def progress(
    engine: str, tally: Tally, comparison: Comparison, *, before: Tally, seconds: float
) -> dict[str, Any]:
    """Return an engine's numbers for one line, rates since `before`, `seconds` ago."""
    return {
        "requests": tally.requests,
        "errors": dict(tally.errors),
        "tokens": tally.tokens,
        "tokens_per_second": round((tally.tokens - before.tokens) / seconds, 1),
        "acceptance_length": latest(tally.readings),
        "compared": comparison.compared.get(engine, 0),
        "different": len(comparison.differences.get(engine, ())),
    }


def overall(readings: list[Reading]) -> float | None:
    """Return tokens per verify step over all readings; restarts of the engine are bridged."""
    steps = accepted = 0
    for before, after in itertools.pairwise(readings):
        if after.verify_steps >= before.verify_steps:
            steps += after.verify_steps - before.verify_steps
            accepted += after.accepted - before.accepted
    return round(1.0 + accepted / steps, 4) if steps else None


def latest(readings: list[Reading]) -> float | None:
    """Return tokens per verify step between the last two readings."""
    if len(readings) <= 1:
        return None
    length = acceptance_length(readings[-2], readings[-1])
    return None if length is None else round(length, 4)


def over_time(readings: list[Reading]) -> tuple[tuple[float, float], ...]:
    """Return (seconds, tokens per verify step) for every stretch in which there were steps."""
    lengths = (
        (after.at, acceptance_length(before, after))
        for before, after in itertools.pairwise(readings)
    )
    return tuple((round(at, 1), round(length, 4)) for at, length in lengths if length is not None)


def as_json(results: dict[str, EngineResult]) -> dict[str, Any]:
    """Return the results as plain values."""
    return {engine: asdict(one) for engine, one in results.items()}
