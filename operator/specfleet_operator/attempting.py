"""Makes the steps of a plan: one that is refused does not stop the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from specfleet_operator.api import Conflict, Ending, NotFound, Refused
from specfleet_operator.observed import Refusal
from specfleet_operator.pacing import Pace, Step
from specfleet_operator.store import FleetKey

log = structlog.get_logger()


@dataclass(slots=True)
class Attempts:
    """What came of the steps of one plan."""

    fleet: FleetKey
    pace: Pace
    before: tuple[Refusal, ...]
    """What was refused the last time."""
    refused: list[Refusal] = field(default_factory=list)
    conflict: Conflict | None = None
    again_seconds: float | None = None
    """When the first of the steps that are put off is due."""

    async def make(self, step: Step, act: Callable[[], Awaitable[None]]) -> None:
        """Make a step unless it is too soon, and remember how it failed."""
        wait = self.pace.wait_seconds(self.fleet, step)
        if wait > 0:
            self.again_seconds = min(wait, self.again_seconds or wait)
            self.refused += [
                one for one in self.before if (one.verb, one.key) == (step.verb, step.key)
            ]
            return
        try:
            await act()
        except Ending:
            raise
        except NotFound as error:
            # It was there a moment ago, or its kind was; the next pass looks again.
            log.info("gone_meanwhile", key=str(step.key), message=error.message)
        except Refused as error:
            self.pace.tried(self.fleet, step)
            log.warning("refused", verb=step.verb, key=str(step.key), message=error.message)
            self.refused.append(Refusal(step.key, error.message, step.verb))
        except Conflict as error:
            self.conflict = error
        else:
            self.pace.tried(self.fleet, step)
