"""What is known of one fleet at one moment, wherever it runs: what the command `status` shows.

None stands for what is not known; Kubernetes knows less of a fleet than a run on this machine does.
"""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_cli.promotions.listing import Listed


class StatusError(ValueError):
    """There is no such fleet to be shown; the message says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that does or does not hold; `since` is empty where nobody remembers."""

    type: str
    status: str
    reason: str
    message: str
    since: str = ""


@dataclass(frozen=True, slots=True)
class Cohort:
    """Engines of a fleet that train and serve alike."""

    name: str
    serve: str
    train: bool
    replicas: int
    """How many there should be."""
    ready: int
    adapted: int | None
    """Of how many the agents hold a lease, and can bring new drafters to them."""
    drafter: str
    """What most of these run now; empty when it is not known."""
    acceptance_length: float | None


@dataclass(frozen=True, slots=True)
class Learning:
    """How far the fleet's training is; `losses` has one value for each drafted token."""

    round: int
    version: int
    live_workers: int
    training_workers: int
    losses: tuple[float, ...]
    deltas: int | None = None
    """Of the open round."""
    quorum: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One fleet."""

    name: str
    namespace: str
    """Empty for a run on this machine."""
    target: str
    store: str
    conditions: tuple[Condition, ...]
    """The one that sums up the others is the first."""
    cohorts: tuple[Cohort, ...]
    stable: str
    """The promoted version: number and short digest, or `stock`; empty when it is not known."""
    candidate: str
    """Empty also when there is none."""
    acceptance_length: float | None
    learning: Learning | None
    promotion: Listed | None
    """The one that is open, or the last one."""

    @property
    def summary(self) -> Condition | None:
        """Return the condition that sums up the others, None before anything was judged."""
        return self.conditions[0] if self.conditions else None
