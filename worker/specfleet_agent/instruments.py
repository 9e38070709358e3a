"""Counts what the agent does. All series are there with 0 before anything happens.

Names and help are declared in `specfleet_common.telemetry.agent`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from prometheus_client import CollectorRegistry, Counter

from specfleet_agent.supervision import CAUSES
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.lineage import LOCAL, STOCK
from specfleet_common.telemetry import agent as names
from specfleet_common.telemetry.metric import Metric, counter
from specfleet_common.wire.messages import Outcome

CALL_RESULTS = ("ok", "unreachable", "unauthorized", "refused")
TRANSFERS = ("put_stock", "push_delta", "pull")
LOOPS = ("reap", "supervise", "heartbeat", "transfer", "deliver", "witness", "evidence", "read")


class Instruments:
    """Counters of the agent's own doings."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counted(metric: Metric, *values: Iterable[str]) -> Counter:
            """Return a counter with a series for each combination of its labels' values."""
            made = counter(metric, registry)
            for combination in product(*values) if values else ():
                made.labels(*combination)
            return made

        self.heartbeats = counted(names.HEARTBEATS, CALL_RESULTS)
        self.deltas = counted(names.DELTAS, Outcome)
        self.transfers = counted(names.TRANSFERS, TRANSFERS, CALL_RESULTS)
        self.transferred_bytes = counted(names.TRANSFERRED_BYTES, ("sent", "received"))
        self.bank_publications = counted(names.BANK_PUBLICATIONS, (STOCK, "version", LOCAL))
        self.trainer_restarts = counted(names.TRAINER_RESTARTS, CAUSES)
        self.loop_failures = counted(names.LOOP_FAILURES, LOOPS)
        self.blocks = counted(names.BLOCKS)
        self.requests = counted(names.REQUESTS, ("recorded", "unknown"))
        self.evidence = counted(
            names.EVIDENCE,
            ("walk", "block", "request"),
            ("stored", "unwanted", "refused", "dropped"),
        )
        self.evidence_calls = counted(names.EVIDENCE_CALLS, CALL_RESULTS)

    def count_transfer(self, kind: str, *, sent_bytes: int = 0, received_bytes: int = 0) -> None:
        """Count weights that have been moved."""
        self.transfers.labels(kind=kind, result="ok").inc()
        self.transferred_bytes.labels(direction="sent").inc(sent_bytes)
        self.transferred_bytes.labels(direction="received").inc(received_bytes)

    def count_evidence(self, records: Iterable[Walk | Block | Request], *, result: str) -> None:
        """Count records by what became of them: stored, unwanted, refused or dropped."""
        for record in records:
            self.evidence.labels(kind=type(record).__name__.lower(), result=result).inc()
