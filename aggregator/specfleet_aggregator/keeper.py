"""Keeps one lineage: its state, the deltas of its open round, and what is in the store.

Decides nothing: `fleet` does. At most one task at a time loads from the store or publishes to it;
heartbeats and uploads go on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from specfleet_aggregator import accounts, fleet, publishing, showing
from specfleet_aggregator.checking import delta_fault, largest_delta_bytes, stock_fault
from specfleet_aggregator.fleet import LineageState
from specfleet_aggregator.metrics import Figures
from specfleet_aggregator.promoter import Promoter
from specfleet_aggregator.publishing import Base
from specfleet_aggregator.spool import Spooled
from specfleet_aggregator.surroundings import Surroundings
from specfleet_common.back_off import back_off_seconds
from specfleet_common.lineage import Lineage
from specfleet_common.store.base import StoreError
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import DamagedVersion
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    FleetState,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    VersionRef,
)


class Keeper:
    """One lineage. All methods run in the event loop; heavy work is handed to threads."""

    def __init__(self, lineage: Lineage, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._state = LineageState(lineage)
        self._ledger = Ledger(surroundings.store, lineage.id)
        self._base: Base | None = None
        self._uploads: dict[str, Spooled] = {}
        self._busy = asyncio.Lock()
        self._failures = 0
        self._retry_at = 0.0
        self.promoter = Promoter(
            lineage.id, surroundings, state=lambda: self._state, restart=self._restart
        )

    def adopt(self, surroundings: Surroundings) -> None:
        """Go by other settings; a version that is being made goes by those it began with."""
        self._around = surroundings
        self.promoter.adopt(surroundings)

    def show(self) -> FleetState:
        """Return what watchers see."""
        policy, now = self._around.policy, self._around.monotonic()
        return self.promoter.show(showing.show(self._state, policy, now=now))

    def figures(self) -> Figures:
        """Return what is measured of it."""
        made_at = self._base.manifest.created_at if self._base else None
        return Figures(self.show(), made_at, self.promoter.num_records)

    def heartbeat(self, beat: Heartbeat) -> HeartbeatReply:
        """Renew a lease; WrongStock when the worker's drafter is not this lineage's."""
        now = self._around.monotonic()
        state, reply = fleet.heartbeat(self._state, beat, self._around.policy, now=now)
        self._become(state)
        return self.promoter.answer(beat, reply)

    def leave(self, worker_id: str) -> None:
        """Forget a worker that now reports for another lineage."""
        self._become(fleet.left(self._state, worker_id))

    def offer(self, header: DeltaHeader) -> DeltaReply | None:
        """Say why a delta need not be sent, or None when it should be."""
        reply = fleet.offer(self._state, header)
        if reply is not None:
            accounts.delta(self._around.metrics, header, reply)
        return reply

    def moved(self, *, received_bytes: int = 0, sent_bytes: int = 0) -> None:
        """Count weights that came from a worker or went to one."""
        self._become(fleet.moved(self._state, received_bytes=received_bytes, sent_bytes=sent_bytes))
        self._around.metrics.moved(received_bytes=received_bytes, sent_bytes=sent_bytes)

    def limit_bytes(self) -> int:
        """Return how large a delta of the open round can be."""
        return largest_delta_bytes(self._base.shapes) if self._base else 0

    async def deliver(self, header: DeltaHeader, upload: Spooled) -> DeltaReply:
        """Count a delta that has come whole, or say why not; the upload is the keeper's now."""
        base = self._base
        assert base is not None
        check = partial(
            delta_fault,
            upload.data(),
            header.codec,
            digest=header.digest,
            shapes=base.shapes,
            parameter_norm=base.manifest.parameter_norm,
        )
        fault = await asyncio.get_running_loop().run_in_executor(self._around.checking, check)
        if fault is None:
            state, reply = fleet.accept(self._state, header)
        else:
            state, reply = fleet.refuse(self._state, header, fault)
        self._become(state)
        if reply.outcome is Outcome.ACCEPTED:
            self._uploads[header.worker_id] = upload
        else:
            upload.close()
        accounts.delta(self._around.metrics, header, reply)
        return reply

    def known_stock(self, digest: str) -> VersionRef | None:
        """Return version 0 if there is one; WrongStock when its digest is another."""
        fleet.check_stock(self._state, digest)
        return self._state.stock

    async def put_stock(self, digest: str, upload: Spooled) -> VersionRef:
        """Make version 0; again is harmless, another drafter is a WrongStock."""
        async with self._busy:
            try:
                if not self._state.loaded:
                    await self._load()
                if self.known_stock(digest) is None:
                    await self._publish_stock(digest, upload)
            except StoreError as error:
                self._store_failed(error, fleet.unloaded)
                raise
        version = self.known_stock(digest)
        if version is None:
            raise StoreError(f"version 0 of lineage {self._state.lineage.id} did not appear")
        return version

    def doubt(self, number: int, error: StoreError) -> None:
        """Note that a version cannot be read; if it is the round's base and damaged, start anew."""
        round_ = self._state.round
        if not isinstance(error, DamagedVersion):
            self._become(fleet.unread(self._state, str(error)))
        elif round_ is not None and round_.base.number == number and not self._busy.locked():
            self._store_failed(error, fleet.unloaded)

    def is_due(self) -> bool:
        """Return whether `advance` has something to do now."""
        now = self._around.monotonic()
        if self._busy.locked() or now < self._retry_at:
            return False
        closes = fleet.may_close(self._state, self._around.policy, now=now)
        return not self._state.loaded or closes is not None

    async def advance(self) -> None:
        """Do what is due: ask the store, or make the next version."""
        async with self._busy:
            if not self._state.loaded:
                try:
                    await self._load()
                except StoreError as error:
                    self._store_failed(error, fleet.unloaded)
                return
            now = self._around.monotonic()
            reason = fleet.may_close(self._state, self._around.policy, now=now)
            if reason is None:
                return
            try:
                await self._close(reason)
            except DamagedVersion as error:
                self._store_failed(error, fleet.unloaded)
            except StoreError as error:
                self._store_failed(error, await self._after_failed_close())

    def close(self) -> None:
        """Free the space of uploads; workers send them again to whoever comes next."""
        self._drop_uploads()

    async def _load(self) -> None:
        policy = self._around.policy
        base = await asyncio.to_thread(
            publishing.load, self._around.store, self._ledger, fleet=policy.fleet
        )
        if base is None and self._state.stock is not None:
            raise StoreError(
                f"lineage {self._state.lineage.id} had versions, the store has none now: "
                "is its directory mounted?"
            )
        await self.promoter.refresh()
        self._start_from(base, settle_seconds=policy.settle_seconds)

    def _start_from(self, base: Base | None, *, settle_seconds: float = 0.0) -> None:
        self._failures = 0
        self._drop_uploads()
        self._base = base
        if base is None:
            self._become(fleet.empty(self._state))
            return
        self._become(
            fleet.restored(
                self._state,
                stock=base.stock,
                base=base.ref,
                taken=base.taken,
                workers=base.manifest.workers,
                fresh=base.fresh,
                now=self._around.monotonic(),
                settle_seconds=settle_seconds,
            )
        )
        accounts.opened(base)

    async def _publish_stock(self, digest: str, upload: Spooled) -> None:
        lineage, data = self._state.lineage, upload.data()
        fault = await asyncio.to_thread(stock_fault, data, digest=digest, lineage=lineage)
        if fault is not None:
            raise WireError(f"stock drafter: {fault}")
        published = await asyncio.to_thread(
            publishing.publish_stock,
            self._around.store,
            self._ledger,
            lineage,
            data,
            fleet=self._around.policy.fleet,
            now=self._around.wall(),
        )
        if published is None:
            await self._load()
        else:
            await self.promoter.refresh()
            self._start_from(published)

    async def _close(self, reason: str) -> None:
        round_, base = self._state.round, self._base
        assert round_ is not None
        assert base is not None
        self._become(fleet.closing(self._state))
        closed_at = self._around.monotonic()
        published = await asyncio.to_thread(
            publishing.publish_next,
            self._around.store,
            self._ledger,
            base,
            {name: (round_.deltas[name], self._uploads[name].data()) for name in round_.deltas},
            self._around.outer,
            reason=reason,
            now=self._around.wall(),
        )
        if published is None:
            accounts.taken(self._state.lineage.id, number=base.taken + 1)
            await self._load()
            return
        now = self._around.monotonic()
        accounts.closed(
            self._around.metrics, round_, published, reason=reason, closed_at=closed_at, now=now
        )
        await self.promoter.refresh()
        self._start_from(published)

    async def _restart(self) -> None:
        """Open the round anew, from the version that the ledger says."""
        async with self._busy:
            try:
                await self._load()
            except StoreError as error:
                self._store_failed(error, fleet.unloaded)

    async def _after_failed_close(self) -> Callable[[LineageState, str], LineageState]:
        """Say how to go on: a version that exists in spite of the failure has closed the round."""
        base = self._base
        assert base is not None
        exists = await asyncio.to_thread(publishing.next_exists, self._around.store, base)
        return fleet.unloaded if exists else fleet.reopened

    def _store_failed(
        self, error: StoreError, after: Callable[[LineageState, str], LineageState]
    ) -> None:
        self._failures += 1
        wait = back_off_seconds(self._failures)
        self._retry_at = self._around.monotonic() + wait
        self._become(after(self._state, str(error)))
        accounts.store_failed(self._around.metrics, self._state.lineage.id, error, wait=wait)

    def _drop_uploads(self) -> None:
        for upload in self._uploads.values():
            upload.close()
        self._uploads.clear()

    def _become(self, state: LineageState) -> None:
        self._state = state
        self._around.changed()
