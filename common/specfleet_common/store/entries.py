"""What the ledger of a lineage can say. Stable, rejected digests and spent budgets follow from it.

`evidence` is the digest of the records that a decision rests on, empty where it needs none, and
`records` is how many there are. Times are of the wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field


@dataclass(frozen=True, slots=True)
class VersionPublished:
    """A version exists."""

    kind: Literal["version_published"]
    at: float
    number: int
    parent: int | None
    digest: str
    deltas: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What a promotion is judged by from its first record to its last; fractions and seconds."""

    minimum_gain: float
    margin: float
    passing: float
    """How often a candidate that is not good enough may pass: this promotion's error budget."""
    failing: float
    """How often a good one may be called harmful."""
    block_seconds: float
    washout_seconds: float
    tpot: float
    ttft: float
    errors: float
    preemptions: float
    recheck_every: int
    """After the promotion, one pair of blocks in so many compares stable with stock."""


@dataclass(frozen=True, slots=True)
class PromotionOpened:
    """A version is a candidate."""

    kind: Literal["promotion_opened"]
    at: float
    promotion: str
    number: int
    digest: str
    stable_number: int
    stable_digest: str
    seed: str
    """Of the order in which canary engines run candidate and stable."""
    rules: Rules


@dataclass(frozen=True, slots=True)
class PromotionAdvanced:
    """A promotion has entered a phase."""

    kind: Literal["promotion_advanced"]
    at: float
    promotion: str
    phase: Literal["Replay", "Canary", "Rolling"]
    sentence: str
    evidence: str
    records: int


@dataclass(frozen=True, slots=True)
class PromotionEnded:
    """A promotion is over; `Promoted` makes its version stable."""

    kind: Literal["promotion_ended"]
    at: float
    promotion: str
    outcome: Literal["Promoted", "Rejected", "Inconclusive", "Superseded", "Aborted"]
    phase: Literal["Pending", "Replay", "Canary", "Rolling"]
    """In which it ended."""
    sentence: str
    evidence: str
    records: int
    harmful: bool
    """Whether the candidate was shown to be worse, not merely not better."""


@dataclass(frozen=True, slots=True)
class StableWithdrawn:
    """The version that a promotion had made stable is worse than stock, which is stable again."""

    kind: Literal["stable_withdrawn"]
    at: float
    promotion: str
    number: int
    digest: str
    sentence: str
    evidence: str
    records: int


@dataclass(frozen=True, slots=True)
class TrainingRestarted:
    """The round after version `after` starts from version `number`, with nothing of what was."""

    kind: Literal["training_restarted"]
    at: float
    number: int
    digest: str
    after: int
    reason: str


Entry = Annotated[
    VersionPublished
    | PromotionOpened
    | PromotionAdvanced
    | PromotionEnded
    | StableWithdrawn
    | TrainingRestarted,
    Field(discriminator="kind"),
]
