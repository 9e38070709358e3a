"""The gRPC service: translates between the wire and the keepers of the fleet's lineages."""

# ruff: noqa: N802 (the methods are named as in the proto)

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc

from specfleet_aggregator import accounts, fleet, membership, publishing, showing
from specfleet_aggregator.admission import Refusals, abort, caller
from specfleet_aggregator.callers import CallRefused
from specfleet_aggregator.fleet import Policy, WrongStock
from specfleet_aggregator.keeper import Keeper
from specfleet_aggregator.membership import Members
from specfleet_aggregator.patches import Patches
from specfleet_aggregator.publishing import Outer, reference
from specfleet_aggregator.spool import receive
from specfleet_aggregator.surroundings import Surroundings
from specfleet_common.lineage import Lineage
from specfleet_common.store import versions
from specfleet_common.store.base import StoreError
from specfleet_common.wire import codec, messages
from specfleet_common.wire.chunks import MAX_PAYLOAD_BYTES, split
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    DeltaReply,
    FleetState,
    HeartbeatReply,
    Outcome,
    VersionRef,
)
from specfleet_common.wire.v1 import specfleet_pb2 as pb
from specfleet_common.wire.v1.specfleet_pb2_grpc import AggregatorServicer

if TYPE_CHECKING:
    from specfleet_common.wire.v1.specfleet_pb2_grpc import _MaybeAsyncIterator, _ServicerContext

_TICK_SECONDS = 0.25
_LOAD_WAIT_SECONDS = 1.0
_WATCH_SECONDS = 0.25


class AggregatorService(AggregatorServicer):
    """All calls of one fleet. `tasks` runs what outlives a call; its failure ends the process."""

    def __init__(
        self,
        surroundings: Callable[[Callable[[], None]], Surroundings],
        tasks: asyncio.TaskGroup,
        refusals: Refusals,
    ) -> None:
        self._around = surroundings(self._wake)
        self._tasks = tasks
        self._keepers: dict[str, Keeper] = {}
        self._strangers: Members = {}
        """Workers of no lineage: their engines cannot be adapted."""
        self._patches = Patches(self._around.store, self._around.spool_directory, tasks)
        self._changed = asyncio.Event()
        self._refusals = refusals

    def adopt(self, policy: Policy, outer: Outer) -> None:
        """Go by other settings from now on, also in a round that is open."""
        self._around = replace(self._around, policy=policy, outer=outer)
        for keeper in self._keepers.values():
            keeper.adopt(self._around)
            self._poke(keeper)
        self._wake()

    async def tick(self) -> None:
        """Do for ever what time alone makes due."""
        while True:
            keepers = tuple(self._keepers.values())
            for keeper in keepers:
                self._poke(keeper)
                keeper.promoter.assign()
            self._around.metrics.show(
                [keeper.figures() for keeper in keepers], now=self._around.wall()
            )
            self._wake()
            await asyncio.sleep(_TICK_SECONDS)

    async def load(self) -> None:
        """Take up the lineages that the store has; when it is silent, heartbeats bring them."""
        try:
            stored = await asyncio.to_thread(publishing.stored_lineages, self._around.store)
        except StoreError:
            self._around.metrics.store_failed()
            self._around.metrics.store(reachable=False)
            return
        for lineage in stored:
            await self._keeper(lineage)

    def close(self) -> None:
        """Free what the keepers hold; no call may come after."""
        for keeper in self._keepers.values():
            keeper.close()
        self._patches.close()

    async def Heartbeat(
        self, request: pb.HeartbeatRequest, context: _ServicerContext
    ) -> pb.HeartbeatReply:
        """Renew a lease."""
        async with self._failures(context, "Heartbeat"):
            beat = codec.decode_heartbeat(request)
            caller().check_worker(beat.worker_id)
            keeper = None if beat.lineage is None else await self._keeper(beat.lineage)
            for other in self._keepers.values():
                if other is not keeper:
                    other.leave(beat.worker_id)
            if keeper is None:
                return codec.encode_reply(self._meet(beat))
            self._strangers = membership.without(self._strangers, beat.worker_id)
            return codec.encode_reply(keeper.heartbeat(beat))

    async def PutStock(
        self, request_iterator: _MaybeAsyncIterator[pb.StockChunk], context: _ServicerContext
    ) -> pb.PutStockReply:
        """Take version 0."""
        async with self._failures(context, "PutStock"):
            chunks = aiter(request_iterator)
            first = await anext(chunks, pb.StockChunk())
            lineage, version = codec.decode_stock_header(first.header)
            keeper = await self._keeper(lineage)
            known = keeper.known_stock(version.digest)
            if known is None:
                spool = self._around.spool_directory
                async with receive(spool, chunks, version.size_bytes, MAX_PAYLOAD_BYTES) as upload:
                    keeper.moved(received_bytes=version.size_bytes)
                    known = await keeper.put_stock(version.digest, upload)
                    upload.close()
            return pb.PutStockReply(version=codec.encode_version(known))

    async def PushDelta(
        self, request_iterator: _MaybeAsyncIterator[pb.DeltaChunk], context: _ServicerContext
    ) -> pb.PushDeltaReply:
        """Take one delta."""
        async with self._failures(context, "PushDelta"):
            chunks = aiter(request_iterator)
            first = await anext(chunks, pb.DeltaChunk())
            header = codec.decode_delta_header(first.header)
            caller().check_worker(header.worker_id)
            keeper = self._keepers.get(header.lineage_id)
            if keeper is None:
                reason = f"lineage {header.lineage_id} is not of this fleet"
                reply = DeltaReply(Outcome.FOREIGN, reason)
                accounts.delta(self._around.metrics, header, reply)
                return codec.encode_delta_reply(reply)
            early = keeper.offer(header)
            if early is not None:
                return codec.encode_delta_reply(early)
            spool, limit = self._around.spool_directory, keeper.limit_bytes()
            async with receive(spool, chunks, header.size_bytes, limit) as upload:
                keeper.moved(received_bytes=header.size_bytes)
                reply = await keeper.deliver(header, upload)
            self._poke(keeper)
            return codec.encode_delta_reply(reply)

    async def PutEvidence(
        self, request: pb.PutEvidenceRequest, context: _ServicerContext
    ) -> pb.PutEvidenceReply:
        """Take what a worker has measured."""
        async with self._failures(context, "PutEvidence"):
            evidence = codec.decode_evidence(request)
            caller().check_worker(evidence.worker_id)
            keeper = self._keepers.get(evidence.lineage_id)
            if keeper is None:
                raise StoreError(f"lineage {evidence.lineage_id} has not been read yet")
            return codec.encode_evidence_reply(await keeper.promoter.take(evidence))

    async def PullVersion(
        self, request: pb.PullVersionRequest, context: _ServicerContext
    ) -> AsyncIterator[pb.VersionChunk]:
        """Send one version, or a patch to it when the caller has another and that is less."""
        async with self._failures(context, "PullVersion"):
            lineage_id = codec.decode_lineage_id(request.lineage_id)
            have = codec.decode_version(request.have)
            keeper = self._keepers.get(lineage_id)
            try:
                found = await self._version(lineage_id, request.number, have)
            except StoreError as error:
                if keeper is not None:
                    keeper.doubt(request.number, error)
                raise
            if found is None:
                reason = f"version {request.number} of lineage {lineage_id} does not exist"
                await context.abort(grpc.StatusCode.NOT_FOUND, reason)
            header, data = found
            yield pb.VersionChunk(header=header)
            for chunk in split(data):
                yield pb.VersionChunk(data=chunk)
            if keeper is not None:
                keeper.moved(sent_bytes=len(data))

    async def WatchState(
        self, request: pb.WatchStateRequest, context: _ServicerContext
    ) -> AsyncIterator[pb.FleetState]:
        """Send every lineage's state at once, then what has changed, while the token is valid."""
        sent: dict[str, FleetState] = {}
        expires_at = caller().expires_at
        while expires_at is None or self._around.wall() < expires_at:
            changed = self._changed
            for state in self._states():
                timeless = replace(state, round_seconds=0.0)
                if sent.get(state.lineage_id) != timeless:
                    sent[state.lineage_id] = timeless
                    yield codec.encode_fleet(state)
            await _wait(changed, None if expires_at is None else expires_at - self._around.wall())
            # Hundreds of heartbeats come in a second, and the state has as many workers.
            await asyncio.sleep(_WATCH_SECONDS)

    def _meet(self, beat: messages.Heartbeat) -> HeartbeatReply:
        """Renew the lease of a worker of no lineage."""
        policy, now = self._around.policy, self._around.monotonic()
        self._strangers = membership.renew(
            self._strangers, beat, now=now, lease_seconds=policy.lease_seconds
        )
        self._wake()
        return fleet.stranger(policy)

    def _states(self) -> list[FleetState]:
        """Return what watchers see now."""
        policy, now = self._around.policy, self._around.monotonic()
        strangers = showing.strangers(self._strangers, policy, now=now)
        lineages = [keeper.show() for keeper in self._keepers.values()]
        return [
            replace(state, workers=(*state.workers, *strangers))
            for state in lineages or [showing.nothing(policy)]
        ]

    async def _keeper(self, lineage: Lineage) -> Keeper:
        """Return a lineage's keeper; a new one gets a moment to ask the store."""
        keeper = self._keepers.get(lineage.id)
        if keeper is None:
            keeper = self._keepers[lineage.id] = Keeper(lineage, self._around)
            task = self._tasks.create_task(keeper.advance())
            await asyncio.wait({task}, timeout=_LOAD_WAIT_SECONDS)
        return keeper

    def _poke(self, keeper: Keeper) -> None:
        if keeper.is_due():
            self._tasks.create_task(keeper.advance())
        for work in keeper.promoter.due():
            self._tasks.create_task(work)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def _failures(self, context: _ServicerContext, method: str) -> AsyncIterator[None]:
        """Turn failures into the status that tells a caller whether to try again."""
        try:
            yield
        except CallRefused as refusal:
            self._refusals.note(refusal, method=method)
            await abort(context, refusal)
        except WireError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except WrongStock as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except StoreError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    async def _version(
        self, lineage_id: str, number: int, have: VersionRef | None
    ) -> tuple[pb.VersionHeader, memoryview] | None:
        """Return what a caller gets that has a version, or none; None when there is no such one."""
        store = self._around.store
        manifest = await asyncio.to_thread(versions.read_manifest, store, lineage_id, number)
        if manifest is None:
            return None
        version = codec.encode_version(reference(manifest))
        patch = None if have is None else await self._patches.between(have, manifest)
        if patch is not None:
            return pb.VersionHeader(version=version, patch_bytes=len(patch)), patch
        data = await asyncio.to_thread(versions.read_content, store, manifest, manifest.drafter)
        return pb.VersionHeader(version=version), data


async def _wait(event: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
