"""Hand evidence in until the aggregator says that it is in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from specfleet_agent.failures import result_of
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.outbox import Outbox
from specfleet_agent.volume import Volume
from specfleet_common.back_off import back_off_seconds
from specfleet_common.exchange import WalkReport
from specfleet_common.wire.client import Refused, Unreachable
from specfleet_common.wire.codec import MAX_RECORDS
from specfleet_common.wire.messages import Evidence, EvidenceReply

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""Each batch becomes an object in the store: records wait for each other."""


class EvidenceTaker(Protocol):
    """What a sender needs of the aggregator."""

    async def put_evidence(self, evidence: Evidence) -> EvidenceReply: ...


class Sender:
    """Empties the outbox."""

    def __init__(
        self,
        outbox: Outbox,
        aggregator: EvidenceTaker,
        volume: Volume,
        observer: Observer,
        instruments: Instruments,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._outbox = outbox
        self._aggregator = aggregator
        self._volume = volume
        self._observer = observer
        self._instruments = instruments
        self._clock = clock
        self._failures = 0
        outbox.take_up(volume.waiting())
        self._is_kept = bool(outbox)
        self._walk_problem = ""

    async def send(self) -> float:
        """Hand in one batch; return the pause before the next."""
        self._show_walks(await asyncio.to_thread(self._volume.walks))
        self._listen()
        if self._is_kept and not self._outbox:
            await self.keep()
        batch = self._outbox.next_batch()
        if batch is None:
            return PAUSE_SECONDS
        asked_at = self._clock()
        try:
            reply = await self._aggregator.put_evidence(batch)
        except Unreachable as error:
            self._failures += 1
            await self.keep()
            self._count_call(result_of(error))
            if self._failures == 1:
                log.warning("evidence_waits", set=batch.set, reason=str(error))
            return back_off_seconds(self._failures)
        except Refused as error:
            # The same batch would be refused again; those after it may be sound.
            self._count_call("refused")
            self._outbox.done(batch)
            self._count(batch, "refused")
            log.error("evidence_refused", set=batch.set, reason=str(error))
            return PAUSE_SECONDS
        self._failures = 0
        self._count_call("ok")
        self._answered(batch, reply, asked_at=asked_at)
        return 0.0 if batch.num_records == MAX_RECORDS else PAUSE_SECONDS

    async def keep(self) -> None:
        """Have what waits outlive the agent; walks do in the trainer's report."""
        waiting = self._outbox.waiting()
        await asyncio.to_thread(self._volume.keep_waiting, waiting)
        self._is_kept = bool(waiting)

    def _show_walks(self, report: WalkReport | None) -> None:
        self._outbox.show_walks(report)
        problem = "" if report is None else report.problem
        if report is not None and problem and problem != self._walk_problem:
            log.warning("walks_ended", promotion=report.promotion, reason=problem)
        self._walk_problem = problem

    def _listen(self) -> None:
        """Learn from the last heartbeat which sets are wanted."""
        heard = self._observer.reply
        if heard is None:
            return
        if heard.message.comparison is not None:
            self._outbox.go_on(heard.message.comparison.id, asked_at=heard.asked_at)
        if heard.message.walk is not None:
            self._outbox.go_on(heard.message.walk.promotion, asked_at=heard.asked_at)

    def _answered(self, batch: Evidence, reply: EvidenceReply, *, asked_at: float) -> None:
        if reply.wanted:
            self._outbox.done(batch)
            self._count(batch, "stored")
            return
        self._outbox.stop(batch.set, at=asked_at)
        self._count(batch, "unwanted")
        log.info("evidence_unwanted", set=batch.set, reason=reply.reason)

    def _count_call(self, result: str) -> None:
        self._instruments.evidence_calls.labels(result=result).inc()

    def _count(self, batch: Evidence, result: str) -> None:
        for records in (batch.walks, batch.blocks, batch.requests):
            self._instruments.count_evidence(records, result=result)
