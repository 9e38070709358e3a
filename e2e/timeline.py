"""What engines counted and what trainers did over time, and figures of any stretch of it. Pure.

Engines count from zero when they start again, so figures are sums over the spans between two
readings of one life.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """One engine's counters since it started, all drafters together."""

    seconds: float
    worker: str
    verify_steps: int
    accepted: tuple[int, ...]
    """How often the draft of each depth was accepted."""
    output_tokens: int
    """Emitted by verify steps; the first token of an answer is not one of these."""


@dataclass(frozen=True, slots=True)
class Training:
    """One trainer as the aggregator knows it, and where its fleet is."""

    seconds: float
    worker: str
    phase: str
    round: int
    version: int
    total_steps: int
    positions: int
    positions_per_second: float
    loss: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """What happened in one engine from `begin` to `end`."""

    begin: float
    end: float
    verify_steps: int
    accepted: tuple[int, ...]
    tokens: int


def spans(counts: Iterable[Count], workers: Iterable[str]) -> list[Span]:
    """Return the spans of some workers in order of their ends; a restart of an engine is none."""
    wanted = list(counts)
    found = []
    for worker in workers:
        mine = [count for count in wanted if count.worker == worker]
        found += [
            Span(
                begin=before.seconds,
                end=after.seconds,
                verify_steps=after.verify_steps - before.verify_steps,
                accepted=tuple(b - a for a, b in zip(before.accepted, after.accepted, strict=True)),
                tokens=after.output_tokens - before.output_tokens,
            )
            for before, after in itertools.pairwise(mine)
            if after.verify_steps >= before.verify_steps
        ]
    return sorted(found, key=lambda span: span.end)


def within(some: Sequence[Span], begin: float, end: float) -> list[Span]:
    """Return the spans that end after `begin` and not after `end`."""
    return [span for span in some if begin < span.end <= end]


def acceptance_length(some: Sequence[Span]) -> float | None:
    """Return tokens per verify step, None when there was no step."""
    steps = sum(span.verify_steps for span in some)
    return 1.0 + sum(sum(span.accepted) for span in some) / steps if steps else None


def acceptance_by_position(some: Sequence[Span]) -> tuple[float, ...]:
    """Return the share of verify steps that accepted the draft of each depth."""
    steps = sum(span.verify_steps for span in some)
    if not steps:
        return ()
    return tuple(sum(depth) / steps for depth in zip(*(s.accepted for s in some), strict=True))


def tokens_per_second(some: Sequence[Span], begin: float, end: float) -> float:
    """Return the tokens of the spans over the whole time, idle or not."""
    return sum(span.tokens for span in within(some, begin, end)) / (end - begin)
