"""What the study finds: claims with their number, what it is held to, and whether it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated."""

    lineages: int
    promotions: int
    conversations: int
    """In a pool of walked ones from which lineages draw."""


FULL = Size(lineages=2000, promotions=20, conversations=12_000)
QUICK = Size(lineages=250, promotions=6, conversations=2500)


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure, and the claim that it is on the right side of a limit."""

    name: str
    claim: str
    value: float
    limit: float | None
    """None: nothing is claimed; the figure shows where the claims end."""
    at_most: bool
    """Whether the value must be at most the limit, or at least it."""
    naive: float | None = None
    """The same figure for the naive way, where there is one."""
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Say whether the value is on the right side of the limit, if one is claimed."""
        if self.limit is None:
            return True
        return self.value <= self.limit if self.at_most else self.value >= self.limit


def wilson_upper(successes: float, trials: int) -> float:
    """Return the upper end of the 95 % interval of Wilson for a share."""
    z = 1.959964
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (middle + spread) / (1 + z * z / trials)
