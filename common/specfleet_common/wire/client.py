"""The aggregator as its callers see it: plain values, and three kinds of failure.

Does not retry: the caller knows how long to wait and what to do meanwhile.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, TypeVar, cast

import grpc
import grpc.aio

from specfleet_common.codecs import patch
from specfleet_common.lineage import Lineage, short
from specfleet_common.tensors import TensorError
from specfleet_common.wire import codec
from specfleet_common.wire.access import Access, AccessError, metadata, open_channel
from specfleet_common.wire.chunks import CHUNK_BYTES
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Evidence,
    EvidenceReply,
    FleetState,
    Heartbeat,
    HeartbeatReply,
    VersionRef,
)
from specfleet_common.wire.receiving import check_version, receive
from specfleet_common.wire.v1 import specfleet_pb2 as pb
from specfleet_common.wire.v1.specfleet_pb2_grpc import AggregatorStub

if TYPE_CHECKING:
    from specfleet_common.wire.v1.specfleet_pb2_grpc import AggregatorAsyncStub

Chunk = TypeVar("Chunk", pb.StockChunk, pb.DeltaChunk)
Metadata = tuple[tuple[str, str], ...]

_OPEN = Access()

_PERMANENT = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)

_NOT_ALLOWED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})


class Unreachable(Exception):
    """The aggregator did not answer; the same call may succeed later."""


class Unauthorized(Unreachable):
    """The aggregator does not accept who calls; with a newer token the same call may succeed."""


class Refused(Exception):
    """The aggregator will never accept this call; `reason` says what is wrong."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PatchUnusable(Exception):
    """A patch did not make the version it was sent for; the whole version will do."""


@dataclass(frozen=True, slots=True)
class Held:
    """A version that the caller has in a file."""

    version: VersionRef
    path: Path


@dataclass(frozen=True, slots=True)
class Pulled:
    """A version that has come, and how: whole, or as a patch."""

    version: VersionRef
    received_bytes: int
    is_patch: bool


class AggregatorClient:
    """One connection to the aggregator at `address` (host:port).

    When other certificates are to be trusted, calls that run finish on the old connection.
    """

    def __init__(
        self,
        address: str,
        access: Access = _OPEN,
        *,
        call_seconds: float = 10.0,
        transfer_seconds: float = 1800.0,
    ) -> None:
        self._address = address
        self._access = access
        self._certificates: bytes | None = None
        self._channel: grpc.aio.Channel | None = None
        self._retired: dict[grpc.aio.Channel, asyncio.Task[None]] = {}
        self._call_seconds = call_seconds
        self._transfer_seconds = transfer_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Break off all calls and close the connection."""
        retired = dict(self._retired)
        for closing in retired.values():
            closing.cancel()
        await asyncio.gather(*retired.values(), return_exceptions=True)
        for channel in (*retired, self._channel):
            if channel is not None:
                await channel.close(None)

    def _call(self) -> tuple[AggregatorAsyncStub, Metadata]:
        """Return where the next call goes, and the metadata that it needs."""
        certificates = self._access.certificates()
        if self._channel is None or certificates != self._certificates:
            if self._channel is not None:
                self._retire(self._channel)
            self._channel = open_channel(self._address, certificates)
            self._certificates = certificates
        stub = cast("AggregatorAsyncStub", AggregatorStub(self._channel))
        return stub, metadata(self._access.token())

    def _retire(self, channel: grpc.aio.Channel) -> None:
        closing = asyncio.create_task(channel.close(self._transfer_seconds))
        self._retired[channel] = closing
        closing.add_done_callback(lambda _: self._retired.pop(channel, None))

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatReply:
        """Renew the lease, report, and learn what to do."""
        with _failures():
            stub, shown = self._call()
            reply = await stub.Heartbeat(
                codec.encode_heartbeat(beat), timeout=self._call_seconds, metadata=shown
            )
            return codec.decode_reply(reply)

    async def put_stock(self, lineage: Lineage, source: Path, *, digest: str) -> VersionRef:
        """Hand in version 0 from a safetensors file in serving dtype; again is harmless."""
        with source.open("rb") as file, _failures():
            size_bytes = os.fstat(file.fileno()).st_size
            header = codec.encode_stock_header(lineage, digest=digest, size_bytes=size_bytes)
            chunks = _upload(pb.StockChunk(header=header), file)
            stub, shown = self._call()
            reply = await stub.PutStock(chunks, timeout=self._transfer_seconds, metadata=shown)
            version = codec.decode_version(reply.version)
            if version is None:
                raise WireError("version: is empty, expected version 0")
            return version

    async def push_delta(self, header: DeltaHeader, source: Path) -> DeltaReply:
        """Hand in a delta from a file that is encoded as the header says; again is harmless."""
        with source.open("rb") as file, _failures():
            chunks = _upload(pb.DeltaChunk(header=codec.encode_delta_header(header)), file)
            stub, shown = self._call()
            reply = await stub.PushDelta(chunks, timeout=self._transfer_seconds, metadata=shown)
            return codec.decode_delta_reply(reply)

    async def put_evidence(self, evidence: Evidence) -> EvidenceReply:
        """Hand in what was measured; it is in the store when the answer comes."""
        with _failures():
            stub, shown = self._call()
            reply = await stub.PutEvidence(
                codec.encode_evidence(evidence), timeout=self._call_seconds, metadata=shown
            )
            return codec.decode_evidence_reply(reply)

    async def pull_version(
        self, lineage_id: str, number: int, *, into: Path, have: Held | None = None
    ) -> Pulled:
        """Fetch one version into a file, which appears whole and with the right digest.

        With `have`, a patch to it may come instead; PatchUnusable when that leads elsewhere.
        """
        request = pb.PullVersionRequest(
            lineage_id=lineage_id,
            number=number,
            have=codec.encode_version(None if have is None else have.version),
        )
        partial = into.with_name(f".{into.name}.partial")
        patch_file = into.with_name(f".{into.name}.patch")
        with _failures():
            stub, shown = self._call()
            call = stub.PullVersion(request, timeout=self._transfer_seconds, metadata=shown)
            try:
                chunks = aiter(call)
                version, patch_bytes = await _version_header(chunks, number, have)
                if have is None or not patch_bytes:
                    await receive(chunks, partial, version.size_bytes)
                    await asyncio.to_thread(check_version, partial, version)
                else:
                    await receive(chunks, patch_file, patch_bytes)
                    await asyncio.to_thread(_patched, have, patch_file, partial, version)
                partial.replace(into)
                return Pulled(version, patch_bytes or version.size_bytes, bool(patch_bytes))
            finally:
                call.cancel()
                partial.unlink(missing_ok=True)
                patch_file.unlink(missing_ok=True)

    async def watch_state(self) -> AsyncGenerator[FleetState, None]:
        """Receive the state of the fleet's lineages, at once and after every change.

        Ends when the token that was shown expires.
        """
        with _failures():
            stub, shown = self._call()
            async for message in stub.WatchState(pb.WatchStateRequest(), metadata=shown):
                yield codec.decode_fleet(message)


async def _upload(header: Chunk, file: BinaryIO) -> AsyncIterator[Chunk]:
    yield header
    while data := file.read(CHUNK_BYTES):
        yield type(header)(data=data)


async def _version_header(
    chunks: AsyncIterator[pb.VersionChunk], number: int, have: Held | None
) -> tuple[VersionRef, int]:
    """Return which version follows, and the size of the patch that comes in its place, if any."""
    first = await anext(chunks, pb.VersionChunk())
    version = codec.decode_version(first.header.version)
    if version is None:
        raise WireError("header: is missing, expected it first")
    if version.number != number:
        raise WireError(f"version {version.number} came, expected version {number}")
    if first.header.patch_bytes and have is None:
        raise WireError("a patch came, expected the whole version")
    return version, first.header.patch_bytes


def _patched(have: Held, patch_file: Path, into: Path, version: VersionRef) -> None:
    """Make a version from the one that is here."""
    try:
        with have.path.open("rb") as base, patch_file.open("rb") as made, into.open("wb") as file:
            patch.apply(base, made, file)
        check_version(into, version)
    except (TensorError, WireError) as error:
        raise PatchUnusable(
            f"the patch from version {have.version.number} ({short(have.version.digest)}): {error}"
        ) from error


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        reason = f"{error.code().name}: {error.details()}"
        if error.code() in _PERMANENT:
            raise Refused(reason) from error
        if error.code() in _NOT_ALLOWED:
            raise Unauthorized(reason) from error
        raise Unreachable(reason) from error
    except asyncio.CancelledError as error:
        # grpc.aio cancels a call whose requests fail, as if the caller had been told to stop.
        task = asyncio.current_task()
        if task is None or task.cancelling() > 0:
            raise
        raise Unreachable("the upload was broken off") from error
    except AccessError as error:
        raise Unreachable(str(error)) from error
    except (WireError, TensorError) as error:
        # What came is damaged or of another protocol; the next answer may be whole.
        raise Unreachable(f"the aggregator's answer is unusable: {error}") from error
