"""What is logged and counted of deltas and rounds."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from specfleet_aggregator.metrics import AggregatorMetrics
from specfleet_aggregator.publishing import Base
from specfleet_aggregator.round import Round
from specfleet_common.lineage import short
from specfleet_common.store.base import StoreError
from specfleet_common.store.entries import Entry
from specfleet_common.wire.messages import DeltaHeader, DeltaReply

log = structlog.get_logger()


def delta(metrics: AggregatorMetrics, header: DeltaHeader, reply: DeltaReply) -> None:
    """Note what became of a delta; of one that cannot count, only the header has come."""
    metrics.delta(header.worker_id, reply)
    log.info(
        "delta_received",
        lineage=header.lineage_id,
        worker=header.worker_id,
        round=header.round,
        outcome=reply.outcome.value,
        reason=reply.reason,
    )


def opened(base: Base) -> None:
    """Note that a round begins, and what was found damaged on the way to its version."""
    for damage in base.damage:
        log.error("version_damaged", reason=damage, used=base.manifest.number)
    log.info(
        "round_opened",
        lineage=base.manifest.lineage.id,
        number=base.manifest.number,
        digest=short(base.ref.digest),
        round=base.taken,
    )


def closed(
    metrics: AggregatorMetrics,
    round_: Round,
    published: Base,
    *,
    reason: str,
    closed_at: float,
    now: float,
) -> None:
    """Note that a round has become a version, and whose deltas had no part in it."""
    metrics.published(round_seconds=now - round_.opened_at, outer_seconds=now - closed_at)
    lineage = published.manifest.lineage.id
    log.info(
        "round_closed",
        lineage=lineage,
        number=round_.number,
        workers=sorted(round_.deltas),
        reason=reason,
        seconds=round(now - round_.opened_at, 3),
    )
    for one in published.left_out:
        metrics.left_out(one.worker_id)
        log.warning(
            "delta_left_out",
            lineage=lineage,
            worker=one.worker_id,
            round=round_.number,
            reason=f"norm is {one.norm:.4g}, expected at most {one.limit:.4g} "
            "by those of the round",
        )


def taken(lineage_id: str, *, number: int) -> None:
    """Note that a version was there before this process could publish it."""
    log.warning(
        "version_taken",
        lineage=lineage_id,
        number=number,
        reason="another aggregator writes to this store; its version is used",
    )


def store_failed(
    metrics: AggregatorMetrics, lineage_id: str, error: StoreError, *, wait: float
) -> None:
    """Note that the store did not do what it was asked, and when it is asked again."""
    metrics.store_failed()
    log.warning("store_failed", lineage=lineage_id, reason=str(error), wait=wait)


def decided(metrics: AggregatorMetrics, lineage_id: str, entry: Entry) -> None:
    """Note a decision that is in the ledger now."""
    metrics.decided(entry)
    facts = {name: value for name, value in asdict(entry).items() if name not in ("kind", "at")}
    log.info(entry.kind, lineage=lineage_id, **facts)
