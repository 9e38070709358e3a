"""Lets calls in: nothing of a call is read before it is known who makes it and may make it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, cast

import grpc
import grpc.aio
import structlog

from specfleet_aggregator.authentication import Authenticate, Metadata
from specfleet_aggregator.callers import Caller, CallRefused, Reason, Role
from specfleet_aggregator.metrics import AggregatorMetrics

ROLES = {
    "Heartbeat": Role.WORKER,
    "PutStock": Role.WORKER,
    "PushDelta": Role.WORKER,
    "PutEvidence": Role.WORKER,
    "PullVersion": Role.WORKER,
    "WatchState": Role.WATCHER,
}
_QUIET_SECONDS = 60.0

if TYPE_CHECKING:
    Handler = grpc.RpcMethodHandler[Any, Any]
    Interceptor = grpc.aio.ServerInterceptor[Any, Any]
else:
    # Only the stubs have type arguments.
    Interceptor = grpc.aio.ServerInterceptor

# gRPC runs the interceptors of a call and the call itself in one task.
_CALLER: ContextVar[Caller] = ContextVar("caller")

log = structlog.get_logger()


def caller() -> Caller:
    """Return who makes the call that is being answered."""
    return _CALLER.get()


class Refusals:
    """Counts refused calls by reason, and logs each reason at most once a minute."""

    def __init__(self, metrics: AggregatorMetrics, *, monotonic: Callable[[], float]) -> None:
        self._metrics = metrics
        self._monotonic = monotonic
        self._logged_at: dict[Reason, float] = {}

    def note(self, refusal: CallRefused, *, method: str) -> None:
        """Note one refused call."""
        self._metrics.call_refused(refusal.reason)
        now = self._monotonic()
        if now - self._logged_at.get(refusal.reason, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._logged_at[refusal.reason] = now
            log.warning("call_refused", method=method, why=refusal.reason, reason=str(refusal))


class Admission(Interceptor):
    """Asks `authenticate` at every call; what the call may do beyond that is `Caller`'s to say."""

    def __init__(self, authenticate: Authenticate, refusals: Refusals) -> None:
        self._authenticate = authenticate
        self._refusals = refusals

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Return what answers the call: the service, or a refusal."""
        method = handler_call_details.method.rpartition("/")[2]
        metadata = cast("Metadata", handler_call_details.invocation_metadata or ())
        try:
            who = self._authenticate(metadata)
            # What the service does not have is for gRPC to say.
            if method in ROLES:
                who.check_role(ROLES[method])
        except CallRefused as refusal:
            self._refusals.note(refusal, method=method)
            return _refusing(refusal)
        _CALLER.set(who)
        return await continuation(handler_call_details)


async def abort(context: Any, refusal: CallRefused) -> NoReturn:
    """End a call with the status and the sentence of a refusal."""
    known = refusal.reason.is_of_a_known_caller
    code = grpc.StatusCode.PERMISSION_DENIED if known else grpc.StatusCode.UNAUTHENTICATED
    await context.abort(code, str(refusal))
    raise AssertionError("abort returned")


def _refusing(refusal: CallRefused) -> Handler:
    async def refuse(requests: object, context: Any) -> None:
        await abort(context, refusal)

    # A stream in both directions fits every call: no request is waited for.
    return grpc.stream_stream_rpc_method_handler(cast("Any", refuse))
