"""The agent's side of the aggregator: heartbeats, and the transfers that the replies call for.

What to do is decided in `heartbeats` and `transfers`; here it is done, and done again after a
failure, for ever.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import structlog

from specfleet_agent import heartbeats
from specfleet_agent.failures import result_of
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Reply, Situation, Worker
from specfleet_agent.switchback import anchored
from specfleet_agent.transfers import (
    Pull,
    PushDelta,
    Pushed,
    PutStock,
    RememberStable,
    Remove,
    Transfer,
    WriteOrders,
    WriteWalking,
    next_transfer,
)
from specfleet_agent.volume import Volume
from specfleet_common.back_off import LAST_SECONDS, back_off_seconds
from specfleet_common.exchange import delta_file, version_file
from specfleet_common.lineage import Lineage, short
from specfleet_common.wire.client import (
    Held,
    PatchUnusable,
    Pulled,
    Refused,
    Unreachable,
)
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Heartbeat,
    HeartbeatReply,
    VersionRef,
)

log = structlog.get_logger()

POLL_SECONDS = 0.25
REFUSED_SECONDS = 30.0
"""Pause after a refusal: only a change on either side can end it."""


class Aggregator(Protocol):
    """What an agent needs of the aggregator."""

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatReply: ...
    async def put_stock(self, lineage: Lineage, source: Path, *, digest: str) -> VersionRef: ...
    async def push_delta(self, header: DeltaHeader, source: Path) -> DeltaReply: ...
    async def pull_version(
        self, lineage_id: str, number: int, *, into: Path, have: Held | None
    ) -> Pulled: ...


class Link:
    """Keeps the lease and moves weights; `phase` says what the trainer does, given its report."""

    def __init__(
        self,
        worker: Worker,
        aggregator: Aggregator,
        volume: Volume,
        observer: Observer,
        instruments: Instruments,
        *,
        phase: Callable[[str | None], str],
        clock: Callable[[], float],
    ) -> None:
        self.connected = False
        self.trouble = "the aggregator has not answered yet"
        """Why the aggregator does not answer, empty while it does."""
        self.beat_soon = asyncio.Event()
        self.move_soon = asyncio.Event()
        self._worker = worker
        self._aggregator = aggregator
        self._volume = volume
        self._observer = observer
        self._instruments = instruments
        self._phase = phase
        self._clock = clock
        self._pushed: Pushed | None = None
        self._unanswered_beats = 0
        self._failed_transfers = 0
        self._reason = ""

    async def beat(self) -> float:
        """Send one heartbeat; return the pause before the next."""
        seen = await self._observer.look()
        report = seen.files.report
        phase = self._phase(None if report is None else report.phase)
        beat = heartbeats.heartbeat(self._worker, seen, trainer_phase=phase)
        if beat is None:
            self.connected = False
            return POLL_SECONDS
        asked_at = self._clock()
        try:
            answer = await self._aggregator.heartbeat(beat)
        except (Unreachable, Refused) as error:
            return self._unanswered(error)
        if not self.connected:
            log.info("aggregator_answers", round=answer.round)
        self.connected = True
        self.trouble = ""
        self._unanswered_beats = 0
        self._instruments.heartbeats.labels(result="ok").inc()
        if seen.page is not None:
            self._answered(answer, seen, asked_at=asked_at, lineage_id=seen.page.lineage.id)
        return answer.heartbeat_seconds

    def _answered(
        self, answer: HeartbeatReply, seen: Situation, *, asked_at: float, lineage_id: str
    ) -> None:
        before = self._observer.reply
        anchor = anchored(
            None if before is None else before.anchor,
            answer.comparison,
            asked_at=asked_at,
            answered_at=self._clock(),
        )
        self._observer.reply = Reply(lineage_id, answer, asked_at, anchor)
        if seen.answer is None or _lasting(answer) != _lasting(seen.answer):
            self.move_soon.set()

    def _unanswered(self, error: Unreachable | Refused) -> float:
        self._unanswered_beats += 1
        result = result_of(error)
        self._instruments.heartbeats.labels(result=result).inc()
        if not self.trouble.startswith(result):
            log.warning("aggregator_does_not_answer", result=result, reason=str(error))
        self.connected, self.trouble = False, f"{result}: {error}"
        refused = isinstance(error, Refused)
        return LAST_SECONDS if refused else back_off_seconds(self._unanswered_beats)

    async def move(self) -> float:
        """Carry out the next transfer; return the pause before the one after it."""
        seen = await self._observer.look()
        todo = next_transfer(self._worker, seen, pushed=self._pushed)
        if todo.reason != self._reason:
            self._reason = todo.reason
            log.info("link", reason=todo.reason)
        if todo.transfer is None:
            return POLL_SECONDS
        try:
            await self._carry_out(todo.transfer)
        except (Unreachable, Refused) as error:
            return self._failed(todo.transfer, error)
        except FileNotFoundError:
            # The trainer or the engine replaced the file in between: look again.
            return POLL_SECONDS
        self._failed_transfers = 0
        return 0.0

    async def _carry_out(self, transfer: Transfer) -> None:
        match transfer:
            case PutStock(lineage, digest, file):
                source = self._volume.shared / file
                version = await self._aggregator.put_stock(lineage, source, digest=digest)
                self._moved(
                    "put_stock",
                    number=version.number,
                    digest=short(version.digest),
                    sent_bytes=version.size_bytes,
                )
            case PushDelta():
                await self._push(transfer)
            case Pull():
                await self._pull(transfer)
            case WriteOrders(orders):
                await asyncio.to_thread(self._volume.write_orders, orders)
                log.info("orders_written", round=orders.round, version=orders.version)
            case WriteWalking(walking):
                await asyncio.to_thread(self._volume.write_walking, walking)
                log.info("walking", promotion="" if walking is None else walking.promotion)
            case RememberStable(stable):
                await asyncio.to_thread(self._volume.remember_stable, stable)
            case Remove(files):
                await asyncio.to_thread(self._volume.remove, files)

    async def _pull(self, pull: Pull) -> None:
        version = pull.version
        into = self._volume.state / version_file(version.number)
        have = None
        if pull.have is not None:
            have = Held(pull.have, self._volume.state / version_file(pull.have.number))
        try:
            pulled = await self._aggregator.pull_version(
                pull.lineage_id, version.number, into=into, have=have
            )
        except PatchUnusable as error:
            log.warning("patch_unusable", reason=str(error))
            pulled = await self._aggregator.pull_version(
                pull.lineage_id, version.number, into=into, have=None
            )
        if pulled.version.digest != version.digest:
            raise Unreachable(
                f"version {version.number} came with digest {short(pulled.version.digest)}, "
                f"expected {short(version.digest)}"
            )
        self._moved(
            "pull",
            number=version.number,
            digest=short(version.digest),
            received_bytes=pulled.received_bytes,
            is_patch=pulled.is_patch,
        )

    async def _push(self, push: PushDelta) -> None:
        source = self._volume.state / delta_file(push.round)
        header = DeltaHeader(
            worker_id=self._worker.id,
            lineage_id=push.lineage_id,
            round=push.round,
            base_version=push.base_version,
            digest=push.digest,
            size_bytes=os.stat(source).st_size,
            steps=push.steps,
            positions=push.positions,
            codec=push.codec,
        )
        reply = await self._aggregator.push_delta(header, source)
        self._pushed = Pushed(push.digest, reply.outcome, self._clock())
        self._instruments.deltas.labels(outcome=reply.outcome.value).inc()
        self._moved(
            "push_delta",
            round=push.round,
            codec=push.codec.value,
            sent_bytes=header.size_bytes,
            outcome=reply.outcome,
            reason=reply.reason,
        )

    def _moved(
        self, kind: str, *, sent_bytes: int = 0, received_bytes: int = 0, **facts: object
    ) -> None:
        self._instruments.count_transfer(kind, sent_bytes=sent_bytes, received_bytes=received_bytes)
        log.info(kind, sent_bytes=sent_bytes, received_bytes=received_bytes, **facts)
        self.beat_soon.set()

    def _failed(self, transfer: Transfer, error: Unreachable | Refused) -> float:
        self._failed_transfers += 1
        kind = _KINDS[type(transfer)]
        pause = back_off_seconds(self._failed_transfers)
        if isinstance(error, Refused):
            pause = REFUSED_SECONDS
        self._instruments.transfers.labels(kind=kind, result=result_of(error)).inc()
        log.warning("transfer_failed", kind=kind, reason=str(error), next_seconds=pause)
        return pause


_KINDS: dict[type[Transfer], str] = {PutStock: "put_stock", PushDelta: "push_delta", Pull: "pull"}


def _lasting(answer: HeartbeatReply) -> HeartbeatReply:
    """Return an answer without what differs from one to the next whatever happens."""
    if answer.comparison is None:
        return answer
    return replace(answer, comparison=replace(answer.comparison, elapsed_seconds=0.0))
