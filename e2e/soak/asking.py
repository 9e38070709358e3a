"""Traffic for hours: what became of requests is counted, and only failures are remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from e2e.cluster_traffic.records import Record

_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Down:
    """When an engine was not there; the times are those of the driver's clock."""

    began: float
    ended: float


@dataclass(slots=True)
class Tally:
    """The requests of one engine."""

    answered: int = 0
    tokens: int = 0
    failures: list[Record] = field(default_factory=list)
    different: list[int] = field(default_factory=list)
    """Prompts that were answered in another way than before."""
    _answers: dict[int, str] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Count a request that has ended."""
        if record.failure:
            self.failures.append(record)
            return
        self.answered += 1
        self.tokens += record.tokens
        if self._answers.setdefault(record.prompt, record.answer) != record.answer:
            self.different.append(record.prompt)


def unexplained(failures: Iterable[Record], down: Iterable[Down]) -> list[Record]:
    """Return the failures of requests that had nothing to do with a time without their engine."""
    times = tuple(down)
    return [
        one
        for one in failures
        if not any(one.began <= time.ended and one.ended >= time.began for time in times)
    ]


def shown(failures: Iterable[Record]) -> list[str]:
    """Return the first failures as sentences."""
    return [
        f"request {one.number} at {one.began:.1f}: {one.failure}"
        for one in list(failures)[:_EXAMPLES]
    ]
