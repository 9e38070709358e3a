"""Whether the fleet's candidates can be judged: the condition Judgeable."""

from __future__ import annotations

from typing import Final

from specfleet_common.api.fleet import FleetSpec
from specfleet_common.api.promoting import Mode
from specfleet_common.api.promotion import Outcome, Phase
from specfleet_common.api.values import Serve
from specfleet_common.wire.messages import PromotionState
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.conditions import Verdict, unheard

JUDGEABLE: Final = "Judgeable"
EVIDENCE_SECONDS: Final = 60.0
"""So long after a promotion was opened, a fleet with traffic has walked the first requests."""


def judgeable(spec: FleetSpec | None, aggregation: Aggregation, now: float) -> Verdict | None:
    """Judge whether evidence comes and suffices; None when nothing is to be judged.

    `spec` is None when it says nothing usable.
    """
    if spec is None or not _judges(spec):
        return None
    if (unknown := unheard(aggregation, "candidates")) is not None:
        return unknown
    newest, before = _last_two(aggregation)
    if (gap := _gap(spec, newest, before, now)) is not None:
        return Verdict("False", *gap)
    if newest is None or newest.phase == Phase.DONE:
        return Verdict("True", "NothingMissing", "No version is under judgement.")
    return Verdict("True", "NothingMissing", f"{_subject(newest)} is under judgement.")


def seconds_to_evidence(aggregation: Aggregation, now: float) -> float | None:
    """Return when a lack of evidence becomes news, None when it is no matter of time."""
    newest, _ = _last_two(aggregation)
    if newest is None or newest.phase != Phase.PENDING or _is_late(newest, now):
        return None
    return newest.started_at + EVIDENCE_SECONDS - now


def _judges(spec: FleetSpec) -> bool:
    """Say whether the spec lets versions be judged, and has engines to do it with."""
    running = [cohort for cohort in spec.all_cohorts if cohort.replicas]
    return (
        spec.promotion.mode is not Mode.PAUSED
        and spec.promotion.pin is None
        and any(cohort.train for cohort in running)
        and any(cohort.serve is Serve.STABLE for cohort in running)
    )


def _gap(
    spec: FleetSpec, newest: PromotionState | None, before: PromotionState | None, now: float
) -> tuple[str, str] | None:
    """Return what is missing to judge the newest candidate: one word and a sentence."""
    if spec.trainer.capture.holdout_percent == 0:
        return (
            "NothingHeldOut",
            "spec.trainer.capture.holdoutPercent is 0, and candidates are judged by conversations"
            " that are held out of training.",
        )
    if newest is None:
        return None
    if newest.outcome == Outcome.INCONCLUSIVE:
        return "Inconclusive", f"{_subject(newest)}: {newest.sentence}"
    is_next = before is not None and before.outcome == Outcome.SUPERSEDED
    if newest.phase == Phase.PENDING and (is_next or _is_late(newest, now)):
        return (
            "NoEvidence",
            f"{_subject(newest)}: no trainer has walked a request yet. It takes traffic, and"
            " held-out requests that are captured whole.",
        )
    if newest.phase in (Phase.CANARY, Phase.ROLLING) and not newest.engines:
        return "NoStableEngine", f"{_subject(newest)}: no live engine serves Stable."
    return None


def _last_two(
    aggregation: Aggregation,
) -> tuple[PromotionState | None, PromotionState | None]:
    """Return the newest promotion of the lineage that most engines are of, and the one before."""
    state = aggregation.current
    newest, before, *_ = (*(state.promotions if state is not None else ()), None, None)
    return newest, before


def _is_late(promotion: PromotionState, now: float) -> bool:
    return now - promotion.started_at >= EVIDENCE_SECONDS


def _subject(promotion: PromotionState) -> str:
    return f"Version {promotion.number}"
