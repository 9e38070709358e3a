"""What a ledger's entries amount to: what is stable, what is judged, what was rejected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from specfleet_common.api.promotion import Outcome, Phase
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
    StableWithdrawn,
    TrainingRestarted,
    VersionPublished,
)


@dataclass(frozen=True, slots=True)
class Version:
    """A version's number and the digest of its content."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class Promotion:
    """One candidate and all that was decided about it."""

    opened: PromotionOpened
    advanced: tuple[PromotionAdvanced, ...] = ()
    ended: PromotionEnded | None = None
    withdrawn: StableWithdrawn | None = None

    @property
    def id(self) -> str:
        """Return what names the promotion."""
        return self.opened.promotion

    @property
    def candidate(self) -> Version:
        """Return what is judged."""
        return Version(self.opened.number, self.opened.digest)

    @property
    def stable(self) -> Version:
        """Return what the candidate is compared with."""
        return Version(self.opened.stable_number, self.opened.stable_digest)

    @property
    def phase(self) -> Phase:
        """Return how far it is."""
        return Phase.DONE if self.ended else self.last_phase

    @property
    def last_phase(self) -> Phase:
        """Return how far it is, or how far it had come when it ended."""
        return Phase(self.advanced[-1].phase) if self.advanced else Phase.PENDING

    @property
    def phase_began_at(self) -> float:
        """Return when it came as far as it is."""
        return self._entered(self.last_phase.value)

    @property
    def canary_began_at(self) -> float:
        """Return when engines began to run candidate and stable in turn."""
        return self._entered(Phase.CANARY.value)

    def _entered(self, phase: str) -> float:
        return next((step.at for step in self.advanced if step.phase == phase), self.opened.at)

    @property
    def has_passed_canary(self) -> bool:
        """Say whether its canary has passed, and only a user's approval is missing."""
        steps = [step.phase for step in self.advanced]
        return steps[-2:] == [Phase.CANARY.value] * 2

    @property
    def was_looked_at(self) -> bool:
        """Say whether any evidence was judged, which costs some of the lineage's error budget."""
        return bool(self.advanced)

    @property
    def was_promoted(self) -> bool:
        """Say whether it ended with a new stable version, whatever became of that."""
        return self.ended is not None and self.ended.outcome == Outcome.PROMOTED.value

    @property
    def outcome(self) -> Outcome | None:
        """Return how it ended; None while it is open."""
        if self.ended is None:
            return None
        return Outcome.ROLLED_BACK if self.withdrawn else Outcome(self.ended.outcome)


@dataclass(frozen=True, slots=True)
class History:
    """A ledger from its beginning up to its entry number `length`."""

    length: int = 0
    stock: Version | None = None
    newest: Version | None = None
    stable: Version | None = None
    promotions: tuple[Promotion, ...] = ()
    """Oldest first."""
    rejected: frozenset[str] = frozenset()
    """Digests that were found not to be good enough, or harmful after their promotion."""
    rejections: int = 0
    """Rejected candidates since the last that was promoted, and since training began again."""
    harm: str = ""
    """What was found to be harmful since training last began again; empty for nothing."""
    restart: TrainingRestarted | None = None
    """How training last began again."""
    num_restarts: int = 0
    restart_was_missed: bool = False
    """Whether the version that should have begun from the restart's base began from another."""

    @property
    def open(self) -> Promotion | None:
        """Return the promotion that is not over."""
        last = self.promotions[-1] if self.promotions else None
        return None if last is None or last.ended else last

    @property
    def watched(self) -> Promotion | None:
        """Return the promotion that made stable what it is; None while stock is stable."""
        for promotion in reversed(self.promotions):
            if promotion.was_promoted:
                return None if promotion.withdrawn else promotion
        return None

    @property
    def spent(self) -> tuple[bool, ...]:
        """Return how the promotions that cost some of the error budget ended: with a new stable?"""
        return tuple(one.was_promoted for one in self.promotions if one.was_looked_at)

    @property
    def last_candidate(self) -> int:
        """Return the number from which rounds to the next candidate count."""
        return max(
            (one.candidate.number for one in self.promotions if one.outcome != Outcome.SUPERSEDED),
            default=0,
        )

    def was_judged(self, version: Version) -> bool:
        """Say whether a version has had its promotion, or its content has been rejected."""
        return version.digest in self.rejected or any(
            one.candidate.number == version.number for one in self.promotions
        )

    def restarts_from(self, newest: int) -> Version | None:
        """Return what the round after version `newest` starts from if that is not `newest`."""
        if self.restart is None or self.restart.after != newest:
            return None
        return Version(self.restart.number, self.restart.digest)


def fold(history: History, entries: Iterable[Entry]) -> History:
    """Return the history with more entries."""
    for entry in entries:
        history = replace(_fold_one(history, entry), length=history.length + 1)
    return history


def _fold_one(history: History, entry: Entry) -> History:
    match entry:
        case VersionPublished():
            return _published(history, entry)
        case PromotionOpened():
            return replace(history, promotions=(*history.promotions, Promotion(entry)))
        case PromotionAdvanced():
            last = history.promotions[-1]
            return _with_last(history, replace(last, advanced=(*last.advanced, entry)))
        case PromotionEnded():
            return _ended(history, entry)
        case StableWithdrawn():
            return _withdrawn(history, entry)
        case TrainingRestarted():
            return replace(
                history,
                rejections=0,
                harm="",
                restart=entry,
                num_restarts=history.num_restarts + 1,
                restart_was_missed=False,
            )
    assert_never(entry)


def _published(history: History, entry: VersionPublished) -> History:
    version = Version(entry.number, entry.digest)
    if entry.number == 0:
        history = replace(history, stock=version, stable=history.stable or version)
    known = history.newest
    if known is not None and known.number >= entry.number:
        return history
    restart = history.restart
    is_first = restart is not None and (known is None or known.number <= restart.after)
    if restart is not None and is_first and entry.number > restart.after:
        missed = entry.parent != restart.number
        history = replace(history, restart_was_missed=missed)
    return replace(history, newest=version)


def _ended(history: History, entry: PromotionEnded) -> History:
    last = replace(history.promotions[-1], ended=entry)
    history = _with_last(history, last)
    if entry.harmful:
        history = replace(history, harm=f"version {last.candidate.number} is harmful")
    if entry.outcome == Outcome.PROMOTED.value:
        return replace(history, stable=last.candidate, rejections=0)
    if entry.outcome == Outcome.REJECTED.value:
        return replace(
            history,
            rejected=history.rejected | {last.candidate.digest},
            rejections=history.rejections + 1,
        )
    return history


def _withdrawn(history: History, entry: StableWithdrawn) -> History:
    return replace(
        history,
        stable=history.stock,
        promotions=tuple(
            replace(one, withdrawn=entry) if one.id == entry.promotion else one
            for one in history.promotions
        ),
        rejected=history.rejected | {entry.digest},
        harm=f"version {entry.number} was withdrawn",
    )


def _with_last(history: History, promotion: Promotion) -> History:
    return replace(history, promotions=(*history.promotions[:-1], promotion))
