"""What a judgement says: an outcome, the reasons as data, the effects, and one sentence."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

_DIGITS = 9


class Outcome(StrEnum):
    """What the evidence says so far."""

    PASSED = "Passed"
    HARMFUL = "Harmful"
    NOT_BETTER = "NotBetter"
    """Better by less than what a promotion is worth."""
    CONTRADICTORY_ARMS = "ContradictoryArms"
    """Parts of the evidence surely say opposite things: something is wrong, not good or bad."""
    NOT_EQUIVALENT = "NotEquivalent"
    """Of an A/A test: arms that run the same differ."""
    NO_DATA = "NoData"
    TOO_LITTLE_TRAFFIC = "TooLittleTraffic"
    UNDECIDED = "Undecided"

    @property
    def final(self) -> bool:
        """Say whether more evidence of the same kind is not to change this."""
        return self not in (Outcome.NO_DATA, Outcome.TOO_LITTLE_TRAFFIC, Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Effect:
    """By how much one arm exceeds another (0.01 is 1 %); each bound holds at every look."""

    name: str
    measure: str
    gain: float
    lower: float
    lower_alpha: float
    upper: float
    upper_alpha: float
    num_records: int
    num_clusters: int
    effective_clusters: float


class ReasonCode(StrEnum):
    """What kind of fact a reason is."""

    SURELY_ABOVE = "SurelyAbove"
    NOT_SURELY_ABOVE = "NotSurelyAbove"
    SURELY_BELOW = "SurelyBelow"
    NO_RECORDS = "NoRecords"
    TOO_FEW_CLUSTERS = "TooFewClusters"
    GUARD_BREACHED = "GuardBreached"


@dataclass(frozen=True, slots=True)
class Reason:
    """One fact that the outcome rests on: what it is about, what it is, and what it was held to."""

    code: ReasonCode
    subject: str
    value: float
    limit: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a judgement with all that led to it."""

    outcome: Outcome
    sentence: str
    reasons: tuple[Reason, ...]
    effects: tuple[Effect, ...]
    more_needed: int | None = None
    """About how many more records a decision needs; None when it is made or cannot be foreseen."""


def canonical(verdict: Verdict) -> bytes:
    """Return the verdict as JSON, the same bytes wherever the same evidence is judged.

    Figures have nine significant digits: the last ones depend on the machine's logarithm. What is
    not finite is null.
    """
    return json.dumps(rounded(asdict(verdict)), sort_keys=True, separators=(",", ":")).encode()


def percent(fraction: float) -> str:
    """Return a signed percentage with two decimals for a sentence."""
    return f"{100 * fraction:+.2f} %"


def rounded(value: object) -> object:
    """Return a value with its figures as `canonical` writes them."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if abs(value) < float("inf") else None
    return value
