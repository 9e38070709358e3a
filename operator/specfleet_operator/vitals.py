"""Whether this process is alive and of use, and the metrics that only time changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specfleet_operator.aggregators import Aggregators
from specfleet_operator.fleets import Fleets
from specfleet_operator.informers import Informer
from specfleet_operator.kinds import FLEET
from specfleet_operator.leading import LeaseHolder
from specfleet_operator.telemetry import Instruments
from specfleet_operator.tokens import Keys
from specfleet_operator.working import Work

DEAD_SECONDS = 300.0
"""What could not be heard of for so long means that this process is of no use."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """Looks at the parts of an operator."""

    informers: list[Informer]
    keys: Keys
    fleets: Fleets
    work: Work
    aggregators: Aggregators
    lease: LeaseHolder
    instruments: Instruments

    def ailments(self) -> tuple[str, ...]:
        """Return why this process should be restarted."""
        return ailments(
            self._ages(), waiting=self.work.oldest_seconds() if self.lease.holds() else 0.0
        )

    def gaps(self) -> tuple[str, ...]:
        """Return what this process does not know yet, so that it could not take over."""
        missing = [one.name for one in self.informers if not one.synced.is_set()]
        if not self.fleets.synced.is_set():
            missing.append(FLEET.plural)
        return gaps(missing, keys_error="" if self.keys.current else self.keys.error)

    def refresh_metrics(self) -> None:
        """Bring the metrics up to date that nobody counts."""
        self.instruments.leader.set(self.lease.holds())
        for stream, age in self._ages().items():
            self.instruments.stream_age.labels(stream=stream).set(age)
        for is_reachable, number in self.aggregators.count().items():
            label = "yes" if is_reachable else "no"
            self.instruments.aggregators.labels(reachable=label).set(number)

    def _ages(self) -> dict[str, float]:
        # Without kinds that others define, and may forbid: they are no reason to end a process.
        required = {one.name: one.age_seconds() for one in self.informers}
        return required | {FLEET.plural: self.fleets.age_seconds()}


def gaps(missing: Iterable[str], *, keys_error: str) -> tuple[str, ...]:
    """Return what is not known yet; `keys_error` is empty when the keys were read."""
    streams = tuple(f"{stream}: not listed yet" for stream in missing)
    return (*streams, f"keys of the cluster's tokens: {keys_error}") if keys_error else streams


def ailments(ages: dict[str, float], *, waiting: float) -> tuple[str, ...]:
    """Return what has not been heard of for too long, and whether a fleet waits for too long."""
    dead = tuple(
        f"{stream}: not heard of for {age:.0f} s, expected at most {DEAD_SECONDS:.0f} s"
        for stream, age in ages.items()
        if age > DEAD_SECONDS
    )
    if waiting <= DEAD_SECONDS:
        return dead
    return (*dead, f"a fleet waits for {waiting:.0f} s, expected at most {DEAD_SECONDS:.0f} s")
