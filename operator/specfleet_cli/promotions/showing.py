"""Promotions as rows, as details and as documents. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml

from specfleet_cli.promotions.listing import Listed, Step
from specfleet_common.judge.verdicts import percent
from specfleet_common.wire.messages import EffectState

COLUMNS = ("name", "phase", "outcome", "gain", "when", "sentence")
UNKNOWN = "-"


def row(promotion: Listed) -> tuple[str, ...]:
    """Return the cells of one promotion, in the order of COLUMNS."""
    state = promotion.state
    return (
        promotion.name,
        _phase(promotion),
        state.outcome or UNKNOWN,
        UNKNOWN if promotion.effect is None else interval(promotion.effect),
        _moment(state.finished_at or state.started_at),
        state.sentence,
    )


def table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Return a heading and the rows, in columns."""
    lines = (tuple(name.upper() for name in COLUMNS), *rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "   ".join(cells).rstrip()


def details(promotion: Listed) -> Iterator[str]:
    """Return everything about one promotion, line by line."""
    state = promotion.state
    yield f"promotion  {promotion.name}"
    yield f"version    {state.number} ({state.digest})"
    if promotion.fleet:
        yield f"fleet      {promotion.fleet}"
    yield f"lineage    {promotion.lineage}"
    yield f"phase      {_phase(promotion)}"
    if state.outcome:
        yield f"outcome    {state.outcome}"
    if promotion.decision:
        yield f"decision   {promotion.decision}"
    yield f"started    {_moment(state.started_at)}"
    if state.finished_at:
        yield f"finished   {_moment(state.finished_at)}"
    if state.engines:
        yield f"engines    {state.candidate_engines} of {state.engines} run the candidate"
    if state.evidence_digest:
        yield f"evidence   {state.evidence_digest}"
    yield f"summary    {state.sentence}"
    for effect in state.effects:
        yield (
            f"effect     {effect.name}: {interval(effect)} {effect.measure}, "
            f"from {effect.num_records} records in {effect.num_clusters} clusters"
        )
    for breach in state.breaches:
        yield f"guard      {breach}"
    for step in steps(promotion):
        yield f"decided    {_moment(step.at)} {step.what}: {step.sentence}"


def steps(promotion: Listed) -> tuple[Step, ...]:
    """Return what was decided, as far as the ledger is known."""
    return promotion.recorded.steps if promotion.recorded else ()


def interval(effect: EffectState) -> str:
    """Return a gain and the bounds that hold at every look; what is not bounded is a dash."""
    if not math.isfinite(effect.gain):
        return UNKNOWN
    lower = percent(effect.lower) if effect.lower > -1 else UNKNOWN
    upper = percent(effect.upper) if math.isfinite(effect.upper) else UNKNOWN
    return f"{percent(effect.gain)} ({lower} to {upper})"


def as_text(value: list[Any] | dict[str, Any], output: str) -> str:
    """Return plain values as `json` or `yaml`."""
    if output == "json":
        return json.dumps(value, indent=2, allow_nan=False)
    return yaml.safe_dump(value, sort_keys=False).rstrip()


def document(promotion: Listed) -> dict[str, Any]:
    """Return a promotion as plain values; what is not known is null, shares are fractions."""
    state = promotion.state
    return {
        "name": promotion.name,
        "fleet": promotion.fleet or None,
        "lineage": promotion.lineage,
        "version": state.number,
        "digest": state.digest,
        "phase": str(state.phase),
        "outcome": str(state.outcome) or None,
        "waitsForApproval": state.waits_for_approval,
        "decision": None if promotion.decision is None else promotion.decision.value,
        "startedAt": _timestamp(state.started_at),
        "finishedAt": _timestamp(state.finished_at),
        "engines": state.engines,
        "candidateEngines": state.candidate_engines,
        "evidenceDigest": state.evidence_digest or None,
        "effects": [
            {
                "name": effect.name,
                "measure": effect.measure,
                "gain": _number(effect.gain),
                "lower": _number(effect.lower) if effect.lower > -1 else None,
                "upper": _number(effect.upper),
                "records": effect.num_records,
                "clusters": effect.num_clusters,
            }
            for effect in state.effects
        ],
        "breaches": list(state.breaches),
        "sentence": state.sentence,
        "decided": [
            {"at": _timestamp(step.at), "what": step.what, "sentence": step.sentence}
            for step in steps(promotion)
        ],
    }


def _phase(promotion: Listed) -> str:
    waiting = promotion.state.waits_for_approval and not promotion.decision
    return f"{promotion.state.phase}, waits for approval" if waiting else promotion.state.phase


def _moment(at: float) -> str:
    if not at:
        return UNKNOWN
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _timestamp(at: float) -> str | None:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds") if at else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
