"""What requests show between two marks. Pure.

A request belongs to the window in which it ended, so that a failure is never blamed on what came
before its cause; the last window also has the requests that were under way at its end.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from e2e.cluster_traffic.records import Log, Record

FIRST = "start"
_EXAMPLES = 5


class Unsettled(ValueError):
    """Requests of the window are still under way: read the log again later."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something happened: a window ends, and the next one begins with this name."""

    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds; None where there is no request to tell them."""

    p50: float | None
    p95: float | None
    longest: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """What became of the requests of one window."""

    name: str
    began: float
    ended: float
    requests: int
    failures: Mapping[str, int]
    """How many failed, by reason."""
    examples: tuple[Record, ...]
    """The first that failed."""
    latency: Percentiles
    """Of the requests that were answered."""
    ttft: Percentiles
    tokens: int
    engines: Mapping[str, int]
    """Requests by the engine that answered, as far as engines say so."""
    different_prompts: tuple[int, ...]
    """Prompts that got different answers, in this window or before it."""
    longest_gap_seconds: float
    """The longest time without the end of a good answer."""

    @property
    def num_failures(self) -> int:
        """Return how many requests failed."""
        return sum(self.failures.values())


def windows(log: Log, marks: Sequence[Mark], *, until: float) -> tuple[Window, ...]:
    """Return a window for each mark, the last one up to `until`; Unsettled when it is too early."""
    if log.settled < until:
        raise Unsettled(f"requests are settled up to {log.settled:.3f}, asked is {until:.3f}")
    sent = [record for record in log.records if record.began < until]
    ends = [mark.at for mark in marks[1:]]
    found = []
    for mark, end in zip(marks, [*ends, math.inf], strict=True):
        within = [record for record in sent if mark.at <= record.ended < end]
        known = [record for record in sent if record.ended < end]
        found.append(_window(mark, min(end, until), within=within, known=known))
    return tuple(found)


def _window(
    mark: Mark, ended: float, *, within: Sequence[Record], known: Sequence[Record]
) -> Window:
    """Return what became of the requests `within` a window; `known` has those before it too."""
    failed = [record for record in within if record.failure]
    good = [record for record in within if not record.failure]
    return Window(
        name=mark.name,
        began=mark.at,
        ended=ended,
        requests=len(within),
        failures=dict(Counter(record.failure for record in failed)),
        examples=tuple(failed[:_EXAMPLES]),
        latency=_percentiles([record.seconds for record in good]),
        ttft=_percentiles([r.ttft_seconds for r in good if r.ttft_seconds is not None]),
        tokens=sum(record.tokens for record in good),
        engines=dict(Counter(record.engine for record in good if record.engine)),
        different_prompts=_different(known, {record.prompt for record in good}),
        longest_gap_seconds=_longest_gap(good, began=mark.at, ended=ended),
    )


def _percentiles(seconds: Sequence[float]) -> Percentiles:
    if not seconds:
        return Percentiles(None, None, None)
    ordered = sorted(seconds)

    def nearest(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Percentiles(nearest(0.5), nearest(0.95), ordered[-1])


def _different(records: Iterable[Record], prompts: set[int]) -> tuple[int, ...]:
    answers: dict[int, set[str]] = defaultdict(set)
    for record in records:
        if record.answer:
            answers[record.prompt].add(record.answer)
    return tuple(sorted(number for number in prompts if len(answers[number]) > 1))


def _longest_gap(good: Sequence[Record], *, began: float, ended: float) -> float:
    ends = sorted(record.ended for record in good if began <= record.ended <= ended)
    points = [began, *ends, ended]
    return max(after - before for before, after in itertools.pairwise(points))
