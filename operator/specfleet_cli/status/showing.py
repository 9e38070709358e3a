"""Reports as lines for people and as documents for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from specfleet_cli.promotion_view import progress
from specfleet_cli.promotions.showing import document as promotion_document
from specfleet_cli.promotions.showing import interval
from specfleet_cli.status.columns import columns
from specfleet_cli.status.report import Cohort, Condition, Report
from specfleet_common.wire.messages import EffectState

UNKNOWN = "-"

_FLEETS = ("fleet", "ready", "reason", "engines", "drafter", "acceptance", "promotion", "message")
_COHORTS = ("cohort", "serves", "trains", "ready", "adapted", "drafter", "acceptance")
_CONDITIONS = ("condition", "status", "reason", "since", "message")
_STYLES = {"True": "green", "False": "red", "Unknown": "yellow"}


def table(reports: Sequence[Report], *, width: int | None) -> Iterator[Text]:
    """Return a line for every fleet; messages are folded to the width, if there is one."""
    yield from columns(_FLEETS, [_row(one) for one in reports], width=width)


def details(report: Report, *, width: int | None) -> Iterator[Text]:
    """Return everything about one fleet, part by part."""
    facts = [[Text(name), Text(said)] for name, said in _facts(report)]
    yield from columns(None, facts, width=width)
    yield Text()
    yield from columns(_CONDITIONS, [_condition(one) for one in report.conditions], width=width)
    yield Text()
    yield from columns(_COHORTS, [_cohort(one) for one in report.cohorts], width=width)


def document(report: Report) -> dict[str, Any]:
    """Return a report as plain values; what is not known is null."""
    learning = report.learning
    return {
        "name": report.name,
        "namespace": report.namespace or None,
        "target": report.target,
        "store": report.store,
        "conditions": [
            {
                "type": one.type,
                "status": one.status,
                "reason": one.reason,
                "message": one.message,
                "since": one.since or None,
            }
            for one in report.conditions
        ],
        "cohorts": [
            {
                "name": one.name,
                "serve": one.serve,
                "train": one.train,
                "replicas": one.replicas,
                "ready": one.ready,
                "adapted": one.adapted,
                "drafter": one.drafter or None,
                "acceptanceLength": one.acceptance_length,
            }
            for one in report.cohorts
        ],
        "stable": report.stable or None,
        "candidate": report.candidate or None,
        "acceptanceLength": report.acceptance_length,
        "learning": None
        if learning is None
        else {
            "round": learning.round,
            "version": learning.version,
            "liveWorkers": learning.live_workers,
            "trainingWorkers": learning.training_workers,
            "losses": list(learning.losses),
            "deltas": learning.deltas,
            "quorum": learning.quorum,
        },
        "promotion": None if report.promotion is None else promotion_document(report.promotion),
    }


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    where = f" in namespace {report.namespace}" if report.namespace else ""
    yield "fleet", f"{report.name}{where}"
    yield "target", report.target
    yield "drafter", _drafter(report)
    yield "learning", _learning(report)
    yield "promotion", _promotion(report)
    yield "store", report.store


def _drafter(report: Report) -> str:
    stable = f"stable is {report.stable}" if report.stable else "no version is stable yet"
    candidate = f", candidate is {report.candidate}" if report.candidate else ""
    length = report.acceptance_length
    accepted = "" if length is None else f", {length:.2f} tokens per verification step"
    return f"{stable}{candidate}{accepted}"


def _learning(report: Report) -> str:
    found = report.learning
    if found is None:
        return UNKNOWN
    said = [f"round {found.round}", f"version {found.version}"]
    if found.deltas is not None:
        said.append(f"{found.deltas} of {found.quorum} deltas")
    if found.losses:
        said.append(f"loss {' '.join(f'{loss:.2f}' for loss in found.losses)}")
    said.append(f"{found.training_workers} of {found.live_workers} live engines train")
    return ", ".join(said)


def _promotion(report: Report) -> str:
    found = report.promotion
    if found is None:
        return "none yet"
    said = [f"{found.name}: {progress(found.state)}"]
    if found.effect is not None:
        said.append(_effect(found.effect))
    return f"{', '.join(said)}. {found.state.sentence}".rstrip()


def _effect(effect: EffectState) -> str:
    return f"{interval(effect)} {effect.measure}"


def _row(report: Report) -> list[Text]:
    summary = report.summary
    ready = sum(one.ready for one in report.cohorts)
    wanted = sum(one.replicas for one in report.cohorts)
    promotion = UNKNOWN if report.promotion is None else progress(report.promotion.state)
    return [
        Text(report.name),
        _status(summary),
        Text(summary.reason if summary else UNKNOWN),
        Text(f"{ready}/{wanted}"),
        Text(report.stable or UNKNOWN),
        Text(_length(report.acceptance_length)),
        Text(promotion),
        Text(summary.message if summary else ""),
    ]


def _condition(condition: Condition) -> list[Text]:
    return [
        Text(condition.type),
        _status(condition),
        Text(condition.reason),
        Text(condition.since or UNKNOWN),
        Text(condition.message),
    ]


def _cohort(cohort: Cohort) -> list[Text]:
    adapted = UNKNOWN if cohort.adapted is None else f"{cohort.adapted}/{cohort.replicas}"
    return [
        Text(cohort.name),
        Text(cohort.serve),
        Text("yes" if cohort.train else "no"),
        Text(f"{cohort.ready}/{cohort.replicas}"),
        Text(adapted),
        Text(cohort.drafter or UNKNOWN),
        Text(_length(cohort.acceptance_length)),
    ]


def _status(condition: Condition | None) -> Text:
    status = condition.status if condition else UNKNOWN
    return Text(status, style=_STYLES.get(status, ""))


def _length(length: float | None) -> str:
    return UNKNOWN if length is None else f"{length:.2f}"
