"""What a soak demands, and where a run did not keep it. Pure: facts in, sentences out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from e2e.checks import Published, Revival
from e2e.soak.asking import Down, Tally, shown, unexplained
from e2e.soak.fleet import STABLE_ENGINES
from e2e.soak.garbage import Stock
from e2e.soak.growth import Allowance, Point, Sight, Trend, is_leak, trend, trend_of_lives
from e2e.soak.processes import AGGREGATOR, TRAINER
from e2e.soak.readings import (
    DESCRIPTORS,
    MEMORY,
    PROCESSES,
    SHARED,
    SHARED_FILES,
    STATE,
    THREADS,
    Lives,
)
from specfleet_aggregator.patches import KEPT

ALLOWED: Mapping[str, Allowance] = {
    # What a burst has taken stays with Python's and the C library's allocators.
    MEMORY: Allowance(absolute=16.0, share=0.05),
    # A version and its patch while they come, and a connection that is on its way out.
    DESCRIPTORS: Allowance(absolute=4.0),
    # A pool starts another thread whenever all are busy at once, which may be late in a life.
    THREADS: Allowance(absolute=4.0),
    # An engine's bank is made when the first version comes, which may be minutes after the start.
    SHARED: Allowance(absolute=16.0),
    SHARED_FILES: Allowance(absolute=6.0),
    STATE: Allowance(absolute=16.0, share=0.05),
    PROCESSES: Allowance(absolute=1.0),
}
"""What may be added over the longest life; MiB for memory, shared memory and volumes."""
OF_AN_AGGREGATOR: Mapping[str, Allowance] = {
    # It keeps a file for each of the newest patches, of which a version makes one or two; and while
    # a round is open, one for each delta, of which a later round may have more on average.
    DESCRIPTORS: Allowance(absolute=float(KEPT + STABLE_ENGINES + 1)),
}
OF_A_TRAINER: Mapping[str, Allowance] = {
    # It fills its buffers within minutes: 78,000 rows of the small model, half a KiB each.
    MEMORY: Allowance(absolute=40.0, share=0.05),
}
GARBAGE_PER_KILL = 3
"""Entries that an aggregator leaves when it dies between the first and the last write of a version:
two files, and one that is half-written."""
MIN_VERSIONS = 3
MIN_REQUESTS = 50


@dataclass(frozen=True, slots=True)
class Growth:
    """One quantity of one kind of process; both trends are None where nothing lived long enough."""

    quantity: str
    kind: str
    within_lives: Trend | None
    from_life_to_life: Trend | None
    allowed: float
    leaks: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """What was there after the run had been told to stop."""

    exit_code: int
    processes: tuple[int, ...]
    """Those that were still alive."""
    shared_memory: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A version as its manifest has it."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a soak has seen."""

    growths: Sequence[Growth]
    revivals: Sequence[Revival]
    tallies: Mapping[str, Tally]
    """By engine."""
    down: Mapping[str, Sequence[Down]]
    seen: Sequence[Published]
    stored: Sequence[Stored]
    ledger: Sequence[Stored]
    store: Stock
    crashes: Mapping[str, int]
    """How often a process has logged that it failed, by its log."""
    ending: Ending


def growths(
    lives: Mapping[str, Mapping[str, Mapping[str, Lives]]], look: Sight
) -> Iterator[Growth]:
    """Judge every quantity of every kind of process."""
    for quantity, kinds in lives.items():
        for kind, names in kinds.items():
            by_name = {name: list(each.values()) for name, each in names.items()}
            yield growth(quantity, kind, by_name, look)


def allowance(quantity: str, kind: str) -> Allowance:
    """Return what may be added to what a process of a kind holds."""
    own = {AGGREGATOR: OF_AN_AGGREGATOR, TRAINER: OF_A_TRAINER}.get(kind, {})
    return own.get(quantity, ALLOWED[quantity])


def growth(
    quantity: str, kind: str, by_name: Mapping[str, Sequence[Sequence[Point]]], look: Sight
) -> Growth:
    """Judge one quantity of one kind of process."""
    allowed = allowance(quantity, kind)
    within = trend([life for lives in by_name.values() for life in lives], look)
    between = trend_of_lives(by_name, look)
    level = max((one.level for one in (within, between) if one is not None), default=0.0)
    leaks = is_leak(within, allowed) or is_leak(between, allowed)
    return Growth(quantity, kind, within, between, allowed.of(level), leaks)


def problems(facts: Facts) -> list[str]:
    """Say what the run did not keep."""
    return [
        *_leaks(facts),
        *(
            f"{one.victim}: killed at {one.killed_at:.0f} s, did not come back"
            for one in facts.revivals
            if one.back_after_seconds is None
        ),
        *_requests(facts),
        *_versions(facts),
        *_left(facts),
        *(f"{log}: {count} tracebacks" for log, count in facts.crashes.items() if count),
    ]


def _leaks(facts: Facts) -> Iterator[str]:
    for one in facts.growths:
        if one.leaks:
            trends = [found for found in (one.within_lives, one.from_life_to_life) if found]
            most = max(trends, key=lambda found: found.added)
            yield (
                f"{one.quantity} of {one.kind}: grows by {most.per_hour:.2f} per hour, "
                f"{most.added:.2f} in {most.seconds / 60:.0f} minutes, expected at most "
                f"{one.allowed:.2f} (usually {most.level:.2f})"
            )


def _requests(facts: Facts) -> Iterator[str]:
    for name, tally in facts.tallies.items():
        failures = unexplained(tally.failures, facts.down.get(name, ()))
        if failures:
            yield (
                f"{name}: {len(failures)} requests failed while their engine was there: "
                f"{'; '.join(shown(failures))}"
            )
        if tally.different:
            yield f"{name}: prompts {sorted(set(tally.different))[:5]} had several answers"
        if tally.answered < MIN_REQUESTS:
            yield f"{name}: {tally.answered} answers, expected at least {MIN_REQUESTS}"


def _versions(facts: Facts) -> Iterator[str]:
    numbers = [one.number for one in facts.stored]
    if numbers != list(range(len(numbers))):
        yield f"store: versions {numbers} have a gap"
    if len(numbers) < MIN_VERSIONS:
        yield f"store: {len(numbers)} versions, expected at least {MIN_VERSIONS}"
    if list(facts.ledger) != list(facts.stored):
        yield "ledger: it has other versions, or in another order, than the store"
    digests = {one.number: one.digest for one in facts.stored}
    yield from (
        f"version {one.number}: told as {one.digest}, stored as {digests.get(one.number)}"
        for one in facts.seen
        if digests.get(one.number) != one.digest
    )


def _left(facts: Facts) -> Iterator[str]:
    kills = sum(one.victim == AGGREGATOR for one in facts.revivals)
    garbage, ending = facts.store.garbage, facts.ending
    if len(garbage) > GARBAGE_PER_KILL * kills:
        yield (
            f"store: nothing refers to {len(garbage)} entries, expected at most "
            f"{GARBAGE_PER_KILL} for each of {kills} kills of the aggregator: {garbage[:5]}"
        )
    if ending.exit_code:
        yield f"the run ended with exit code {ending.exit_code}, expected 0"
    if ending.processes:
        yield f"processes {list(ending.processes)} outlived the run"
    if ending.shared_memory:
        yield f"shared memory: {list(ending.shared_memory)} outlived the run"
