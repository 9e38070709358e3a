"""Puts the aggregator together from its settings and runs it until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import grpc.aio
import structlog
from prometheus_client import CollectorRegistry, start_http_server

from specfleet_aggregator.fleet import Policy
from specfleet_aggregator.keeper import Surroundings
from specfleet_aggregator.metrics import AggregatorMetrics
from specfleet_aggregator.publishing import Outer
from specfleet_aggregator.round import RoundPolicy
from specfleet_aggregator.service import AggregatorService
from specfleet_aggregator.settings import Settings
from specfleet_common.files import write_file
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.directory import remove_leftovers
from specfleet_common.store.owner import UnusableStore, claim
from specfleet_common.wire.messages import TrainingOrders
from specfleet_common.wire.v1.specfleet_pb2_grpc import add_AggregatorServicer_to_server

_GRACE_SECONDS = 0.5

# Two aggregators must not share a port, and clients may ping every 20 s during a call.
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)

log = structlog.get_logger()


async def serve(settings: Settings, store: Store) -> None:
    """Serve until SIGTERM or SIGINT; UnusableStore when the store must not be written to."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await asyncio.to_thread(_claim, store, settings)
    async with running(settings, store) as port:
        if settings.port_file is not None:
            write_file(settings.port_file, str(port).encode())
        await stop.wait()
    log.info("aggregator_stopped")


@asynccontextmanager
async def running(settings: Settings, store: Store) -> AsyncIterator[int]:
    """Serve on the port that is returned until the block ends."""
    registry = CollectorRegistry()
    metrics = AggregatorMetrics(registry, fleet=settings.fleet)
    server = grpc.aio.server(options=_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        service = AggregatorService(_surroundings(settings, store, metrics), tasks)
        ticking = tasks.create_task(service.tick())
        await service.load()
        add_AggregatorServicer_to_server(service, server)
        port = server.add_insecure_port(settings.listen)
        await server.start()
        log.info("aggregator_started", fleet=settings.fleet, port=port)
        try:
            # Whoever can read the metrics takes the service for ready.
            with _metrics_server(settings, registry):
                yield port
        finally:
            ticking.cancel()
            await server.stop(_GRACE_SECONDS)
    service.close()


def policy(settings: Settings) -> Policy:
    """Return the part of the settings that decisions depend on."""
    return Policy(
        fleet=settings.fleet,
        round=RoundPolicy(
            quorum_minimum=settings.quorum_minimum,
            quorum_percent=settings.quorum_percent,
            max_round_seconds=settings.max_round_seconds,
        ),
        orders=TrainingOrders(
            local_steps=settings.local_steps,
            learning_rate=settings.learning_rate,
            depth_weights=settings.depth_weights,
            rows_per_step=settings.rows_per_step,
            publish_every_steps=settings.publish_every_steps,
            codec=settings.codec,
            dpace=settings.dpace,
        ),
        lease_seconds=settings.lease_seconds,
        heartbeat_seconds=settings.heartbeat_seconds,
    )


def _surroundings(
    settings: Settings, store: Store, metrics: AggregatorMetrics
) -> Callable[[Callable[[], None]], Surroundings]:
    return lambda changed: Surroundings(
        store=store,
        spool_directory=settings.spool_directory,
        policy=policy(settings),
        outer=Outer(settings.outer_learning_rate, settings.outer_momentum),
        metrics=metrics,
        monotonic=time.monotonic,
        wall=time.time,
        changed=changed,
    )


def _claim(store: Store, settings: Settings) -> None:
    """Claim the store; one that fails is asked again before anything is written to it."""
    try:
        claim(store, settings.fleet)
        if settings.store_directory is not None:
            removed = remove_leftovers(settings.store_directory, now=time.time())
            if removed:
                log.info("leftovers_removed", files=removed)
    except UnusableStore:
        raise
    except StoreError as error:
        log.warning("store_failed", reason=str(error))


@contextmanager
def _metrics_server(settings: Settings, registry: CollectorRegistry) -> Iterator[None]:
    if settings.metrics_port is None:
        yield
        return
    host = settings.listen.rpartition(":")[0].strip("[]")
    server, thread = start_http_server(settings.metrics_port, host, registry)
    log.info("metrics_started", port=server.server_port)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
