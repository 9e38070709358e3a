"""How soon a step is made again although the same was made, or refused, a moment ago.

What the API server refuses it will refuse again, and what another program undoes it will undo
again. Both are tried for ever, but ever more seldom. What is wanted anew is done at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specfleet_common.back_off import back_off_seconds
from specfleet_operator.naming import APPLIED_ANNOTATION
from specfleet_operator.observed import Object, ObjectKey, Verb, key_of
from specfleet_operator.store import FleetKey

LAST_PAUSE_SECONDS = 60.0
FORGET_SECONDS = 600.0
"""After so long the next time is a first time again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do to one object."""

    verb: Verb
    key: ObjectKey
    digest: str = ""
    """Tells what is wanted now from what was wanted before."""


def applying(item: Object) -> Step:
    """Return the step that applies a stamped object."""
    return Step("apply", key_of(item), item["metadata"]["annotations"][APPLIED_ANNOTATION])


@dataclass(frozen=True, slots=True)
class _Try:
    digest: str
    number: int
    at: float


class Pace:
    """Remembers when each step was made last for each fleet, and how often already."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tries: dict[FleetKey, dict[tuple[Verb, ObjectKey], _Try]] = {}

    def wait_seconds(self, fleet: FleetKey, step: Step) -> float:
        """Return for how long a step should not be made; 0 when it may be now."""
        last = self._last(fleet, step)
        if last is None:
            return 0.0
        pause = back_off_seconds(last.number, last_seconds=LAST_PAUSE_SECONDS)
        return max(0.0, last.at + pause - self._clock())

    def tried(self, fleet: FleetKey, step: Step) -> None:
        """Remember that a step was made now, whether the API server did it or not."""
        last, now = self._last(fleet, step), self._clock()
        number = 1 if last is None or now - last.at > FORGET_SECONDS else last.number + 1
        tries = self._tries.setdefault(fleet, {})
        tries[step.verb, step.key] = _Try(step.digest, number, now)

    def forget(self, fleet: FleetKey) -> None:
        """Forget a fleet that is gone."""
        self._tries.pop(fleet, None)

    def _last(self, fleet: FleetKey, step: Step) -> _Try | None:
        last = self._tries.get(fleet, {}).get((step.verb, step.key))
        return last if last is not None and last.digest == step.digest else None
