"""Puts the aggregator together from its settings and runs it until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

import grpc.aio
import structlog
from prometheus_client import CollectorRegistry, start_http_server

from specfleet_aggregator.admission import Admission, Refusals
from specfleet_aggregator.authentication import authenticator
from specfleet_aggregator.certificate import ServerCertificate
from specfleet_aggregator.learning import InForce
from specfleet_aggregator.metrics import AggregatorMetrics
from specfleet_aggregator.service import AggregatorService
from specfleet_aggregator.settings import Settings
from specfleet_aggregator.settings_file import SettingsFile
from specfleet_aggregator.surroundings import Surroundings
from specfleet_common.files import write_file
from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.owner import UnusableStore, claim
from specfleet_common.store.sweeping import sweep
from specfleet_common.telemetry.metric import process_registry
from specfleet_common.wire.v1.specfleet_pb2_grpc import add_AggregatorServicer_to_server

_GRACE_SECONDS = 0.5
_LOOK_SECONDS = 0.5

# Two aggregators must not share a port, and clients may ping every 20 s during a call.
OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)

log = structlog.get_logger()


async def serve(settings: Settings, store: Store) -> None:
    """Serve until SIGTERM or SIGINT; UnusableStore when the store must not be written to.

    ValueError names a file that is needed for a start and cannot be used.
    """
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
    registry = process_registry()
    metrics = AggregatorMetrics(registry)
    file = SettingsFile(settings.settings_file)
    refusals = Refusals(metrics, monotonic=time.monotonic)
    admission = Admission(authenticator(settings, wall=time.time), refusals)
    server = grpc.aio.server(options=OPTIONS, interceptors=(admission,))
    port = _bind(server, settings, metrics)
    async with _one_thread("checking") as checking, asyncio.TaskGroup() as tasks:
        service = AggregatorService(
            _surroundings(settings, store, checking, file.in_force, metrics), tasks, refusals
        )
        always = (
            tasks.create_task(service.tick()),
            tasks.create_task(_follow(file, service, metrics, fleet=settings.fleet)),
        )
        await service.load()
        add_AggregatorServicer_to_server(service, server)
        await server.start()
        log.info(
            "aggregator_started",
            fleet=settings.fleet,
            port=port,
            settings_generation=file.in_force.settings.generation,
            tls=settings.tls_certificate_file is not None,
            callers=_known_by(settings),
        )
        try:
            # Whoever can read the metrics takes the service for ready.
            with _metrics_server(settings, registry):
                yield port
        finally:
            for task in always:
                task.cancel()
            await server.stop(_GRACE_SECONDS)
    service.close()


@asynccontextmanager
async def _one_thread(name: str) -> AsyncIterator[Executor]:
    """Compute one thing after the other: more at a time would keep heartbeats from the cores."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _bind(server: grpc.aio.Server, settings: Settings, metrics: AggregatorMetrics) -> int:
    if settings.tls_certificate_file is None or settings.tls_key_file is None:
        return server.add_insecure_port(settings.listen)
    certificate = ServerCertificate(settings.tls_certificate_file, settings.tls_key_file)
    metrics.certificate(certificate.expires_at)
    return server.add_secure_port(settings.listen, certificate.credentials())


def _known_by(settings: Settings) -> str:
    """Say how callers are known."""
    if settings.token_file is not None:
        return "shared token"
    return "anyone may call" if settings.jwks_file is None else "service account tokens"


async def _follow(
    file: SettingsFile, service: AggregatorService, metrics: AggregatorMetrics, *, fleet: str
) -> None:
    """Have the service go by what the settings file says, for ever."""
    while True:
        in_force = file.in_force
        metrics.settings(generation=in_force.settings.generation, refused=bool(in_force.error))
        await asyncio.sleep(_LOOK_SECONDS)
        if file.look():
            service.adopt(file.in_force.policy(fleet), file.in_force.outer)


def _surroundings(
    settings: Settings,
    store: Store,
    checking: Executor,
    in_force: InForce,
    metrics: AggregatorMetrics,
) -> Callable[[Callable[[], None]], Surroundings]:
    return lambda changed: Surroundings(
        store=store,
        spool_directory=settings.spool_directory,
        checking=checking,
        policy=in_force.policy(settings.fleet),
        outer=in_force.outer,
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
            removed = sweep(settings.store_directory, now=time.time())
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
