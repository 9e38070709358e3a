"""What comes next: from what was decided, what the evidence says and what users want to the entry.

One decision at a time. Whoever has appended it asks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from specfleet_aggregator.promotion.history import History, Promotion, Version
from specfleet_aggregator.promotion.policy import (
    SUPERSEDED_AFTER_SECONDS,
    PromotionPolicy,
    opening,
)
from specfleet_common.api.promotion import Phase
from specfleet_common.judge.rejudging import Judgement
from specfleet_common.judge.verdicts import Outcome
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    StableWithdrawn,
    TrainingRestarted,
)
from specfleet_common.store.evidence import after

_Ending = Literal["Promoted", "Rejected", "Inconclusive", "Superseded", "Aborted"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known besides the ledger: of the evidence, and of live engines."""

    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    """By set: what the records say in the phase that it is in. A set without records has none."""
    has_engines: bool = True
    """Whether any live engine serves what is stable: nobody else would run a candidate."""
    is_rolled_out: bool = False
    """Whether every live engine that serves what is stable was seen to run the candidate."""
    idle_seconds: float = 0.0
    """How long no engine has changed while the candidate rolls out."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An entry of the ledger; `rests_on` is the set whose judgement led to it, or nothing."""

    entry: Entry
    rests_on: str = ""


def decide(
    history: History,
    policy: PromotionPolicy,
    findings: Findings,
    *,
    lineage_id: str,
    now: float,
) -> Decision | None:
    """Return the next decision, None while there is none to make."""
    open_ = history.open
    if open_ is not None and policy.aborts(open_.id):
        return _end(open_, "Aborted", "A user ended it.", now=now)
    if open_ is not None and policy.settings.pin is not None:
        reason = f"Version {policy.settings.pin} is pinned, so nothing is judged."
        return _end(open_, "Aborted", reason, now=now)
    if policy.is_paused:
        return None
    return (
        _withdrawal(history, policy, findings, now=now)
        or _restart(history, policy, now=now)
        or (
            _next_candidate(history, policy, findings, lineage_id=lineage_id, now=now)
            if open_ is None
            else _next_step(history, open_, policy, findings, now=now)
        )
    )


def is_running(history: History, policy: PromotionPolicy) -> Promotion | None:
    """Return the open promotion if engines and trainers are to work for it."""
    open_ = history.open
    if open_ is None or policy.is_paused or policy.settings.pin is not None:
        return None
    return None if open_.stable != history.stable or policy.aborts(open_.id) else open_


def is_watching(history: History, policy: PromotionPolicy) -> Promotion | None:
    """Return the promotion whose version, now stable, an engine compares with stock.

    Not while a candidate is on live engines: an engine that compares cannot be rolled out to.
    """
    running = is_running(history, policy)
    if policy.is_paused or policy.settings.pin is not None:
        return None
    if running is not None and running.phase in (Phase.CANARY, Phase.ROLLING):
        return None
    return history.watched


def _withdrawal(
    history: History, policy: PromotionPolicy, findings: Findings, *, now: float
) -> Decision | None:
    watched = is_watching(history, policy)
    if watched is None:
        return None
    judgement = findings.judgements.get(after(watched.id))
    if judgement is None or judgement.verdict.outcome is not Outcome.HARMFUL:
        return None
    entry = StableWithdrawn(
        kind="stable_withdrawn",
        at=now,
        promotion=watched.id,
        number=watched.candidate.number,
        digest=watched.candidate.digest,
        sentence=judgement.verdict.sentence,
        evidence="",
        records=0,
    )
    return Decision(entry, rests_on=after(watched.id))


def _restart(history: History, policy: PromotionPolicy, *, now: float) -> Decision | None:
    stable, newest = history.stable, history.newest
    if stable is None or newest is None:
        return None
    reason = history.harm
    if history.rejections >= policy.settings.restart_after_rejections:
        reason = f"{history.rejections} candidates in a row were rejected"
    if history.restart_was_missed:
        reason = "the version after the last restart did not begin from stable"
    if not reason:
        return None
    return Decision(
        TrainingRestarted(
            kind="training_restarted",
            at=now,
            number=stable.number,
            digest=stable.digest,
            after=newest.number,
            reason=reason,
        )
    )


def _next_candidate(
    history: History,
    policy: PromotionPolicy,
    findings: Findings,
    *,
    lineage_id: str,
    now: float,
) -> Decision | None:
    newest, stable = history.newest, history.stable
    if newest is None or stable is None or policy.settings.pin is not None:
        return None
    if not findings.has_engines:
        return None
    if newest.number < history.last_candidate + policy.settings.minimum_rounds:
        return None
    if history.was_judged(newest) or newest.digest == stable.digest:
        return None
    return Decision(
        opening(history, newest, stable, policy, lineage_id=lineage_id, now=now),
    )


def _next_step(
    history: History,
    promotion: Promotion,
    policy: PromotionPolicy,
    findings: Findings,
    *,
    now: float,
) -> Decision | None:
    if promotion.stable != history.stable:
        reason = f"Version {promotion.stable.number}, which it is compared with, was withdrawn."
        return _end(promotion, "Inconclusive", reason, now=now)
    judgement = findings.judgements.get(promotion.id)
    phase, waited = promotion.phase, now - promotion.phase_began_at
    if phase is Phase.PENDING:
        if judgement is not None:
            return _advance(promotion, "Replay", "First evidence has come.", now=now)
        newer = history.newest
        assert newer is not None
        if waited >= SUPERSEDED_AFTER_SECONDS and _is_newer(newer, promotion, history):
            reason = f"Version {newer.number} came before any evidence."
            return _end(promotion, "Superseded", reason, now=now)
    if judgement is not None and phase is not Phase.PENDING:
        judged = _judged(promotion, policy, findings, judgement, now=now)
        if judged is not None:
            return judged
    if promotion.has_passed_canary:
        return None
    is_rolling = phase is Phase.ROLLING
    if (findings.idle_seconds if is_rolling else waited) >= policy.seconds(phase):
        reason = _out_of_time(phase, judgement, seconds=policy.seconds(phase))
        rests_on = promotion.id if judgement else ""
        return _end(promotion, "Inconclusive", reason, now=now, rests_on=rests_on)
    return None


def _judged(
    promotion: Promotion,
    policy: PromotionPolicy,
    findings: Findings,
    judgement: Judgement,
    *,
    now: float,
) -> Decision | None:
    """Return what follows from the evidence, None while that is not enough."""
    verdict, phase = judgement.verdict, promotion.phase
    if judgement.breaches:
        sentence = f"Guard: {'; '.join(breach.sentence for breach in judgement.breaches)}."
        return _reject(promotion, sentence, now=now, harmful=True)
    if verdict.outcome in (Outcome.HARMFUL, Outcome.NOT_BETTER):
        is_harm = verdict.outcome is Outcome.HARMFUL
        return _reject(promotion, verdict.sentence, now=now, harmful=is_harm)
    if verdict.outcome is Outcome.CONTRADICTORY_ARMS:
        return _end(promotion, "Inconclusive", verdict.sentence, now=now, rests_on=promotion.id)
    if phase is Phase.ROLLING:
        if not findings.is_rolled_out:
            return None
        sentence = f"All live engines run it. {promotion.advanced[-1].sentence}"
        return _end(promotion, "Promoted", sentence, now=now, rests_on=promotion.id)
    if phase is Phase.CANARY and promotion.has_passed_canary:
        if not policy.approves(promotion.id):
            return None
        return _advance(promotion, "Rolling", promotion.advanced[-1].sentence, now=now)
    if verdict.outcome is not Outcome.PASSED:
        return None
    if phase is Phase.REPLAY:
        next_phase: Literal["Canary", "Rolling"] = "Canary"
    else:
        next_phase = "Rolling" if policy.approves(promotion.id) else "Canary"
    return _advance(promotion, next_phase, verdict.sentence, now=now, rests_on=promotion.id)


def _is_newer(version: Version, promotion: Promotion, history: History) -> bool:
    return version.number > promotion.candidate.number and not history.was_judged(version)


def _out_of_time(phase: Phase, judgement: Judgement | None, *, seconds: float) -> str:
    if judgement is None:
        return f"No evidence within {seconds:.0f} s."
    if phase is Phase.ROLLING:
        return f"No engine changed to it within {seconds:.0f} s."
    return f"No decision within {seconds:.0f} s. {judgement.verdict.sentence}"


def _advance(
    promotion: Promotion,
    phase: Literal["Replay", "Canary", "Rolling"],
    sentence: str,
    *,
    now: float,
    rests_on: str = "",
) -> Decision:
    entry = PromotionAdvanced(
        kind="promotion_advanced",
        at=now,
        promotion=promotion.id,
        phase=phase,
        sentence=sentence,
        evidence="",
        records=0,
    )
    return Decision(entry, rests_on)


def _reject(promotion: Promotion, sentence: str, *, now: float, harmful: bool) -> Decision:
    return _end(promotion, "Rejected", sentence, now=now, rests_on=promotion.id, harmful=harmful)


def _end(
    promotion: Promotion,
    outcome: _Ending,
    sentence: str,
    *,
    now: float,
    rests_on: str = "",
    harmful: bool = False,
) -> Decision:
    entry = PromotionEnded(
        kind="promotion_ended",
        at=now,
        promotion=promotion.id,
        outcome=outcome,
        phase=promotion.advanced[-1].phase if promotion.advanced else "Pending",
        sentence=sentence,
        evidence="",
        records=0,
        harmful=harmful,
    )
    return Decision(entry, rests_on)
