"""Put the agent together and run it until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping

import structlog

from specfleet_agent import http, needs
from specfleet_agent.bank import Bank
from specfleet_agent.delivering import Delivery
from specfleet_agent.instruments import Instruments
from specfleet_agent.link import Link
from specfleet_agent.loops import Loops
from specfleet_agent.memory import find_cgroup
from specfleet_agent.mirror import Mirror, Reading
from specfleet_agent.observing import Observer
from specfleet_agent.outbox import Outbox
from specfleet_agent.sending import Sender
from specfleet_agent.settings import Settings
from specfleet_agent.situation import Worker
from specfleet_agent.supervising import Supervisor
from specfleet_agent.supervision import Limits
from specfleet_agent.trainer_process import TrainerProcess
from specfleet_agent.volume import Volume
from specfleet_agent.witnessing import Witness
from specfleet_common.files import write_file
from specfleet_common.reaping import adopt_orphans, reap
from specfleet_common.telemetry.metric import process_registry
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.client import AggregatorClient

log = structlog.get_logger()

READING_SECONDS = 1.0
REAP_SECONDS = 0.25
PATIENCE_SECONDS = 60.0
TRANSFER_PATIENCE_SECONDS = 2000.0
"""Above the client's own limit for one transfer."""


async def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Run until SIGTERM or SIGINT; the trainer ends with the agent."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    adopt_orphans()
    settings.state_directory.mkdir(parents=True, exist_ok=True)
    settings.shm_directory.mkdir(parents=True, exist_ok=True)

    registry, mirror = process_registry(), Mirror()
    registry.register(mirror)
    instruments = Instruments(registry)
    worker = Worker(settings.worker_id, settings.cohort, settings.train, settings.serve)
    volume = Volume(settings.state_directory, settings.shm_directory)
    observer = Observer(
        volume, engine_silence_seconds=settings.engine_silence_seconds, clock=time.monotonic
    )
    loops = Loops(time.monotonic, instruments.loop_failures)
    process = trainer_process(settings, environment) if settings.train else None
    supervisor = Supervisor(
        process,
        Limits(settings.trainer_memory_bytes, settings.trainer_silence_seconds),
        volume,
        instruments,
        cgroup=find_cgroup(),
        clock=time.monotonic,
    )
    delivery = Delivery(
        worker,
        volume,
        observer,
        Bank(settings.shm_directory),
        instruments,
        clock=time.monotonic,
    )
    access = access_by_files(ca_file=settings.ca_file, token_file=settings.token_file)
    client = AggregatorClient(settings.aggregator, access)
    link = Link(
        worker,
        client,
        volume,
        observer,
        instruments,
        phase=supervisor.phase,
        clock=time.monotonic,
    )
    outbox = Outbox(worker.id)
    witness = Witness(
        worker, settings.shm_directory, observer, outbox, instruments, clock=time.monotonic
    )
    sender = Sender(outbox, client, volume, observer, instruments, clock=time.monotonic)
    server, port = await http.serve(
        settings.http_host,
        settings.http_port,
        stalled=loops.stalled,
        trouble=lambda: link.trouble,
        registry=registry,
    )
    if settings.port_file is not None:
        write_file(settings.port_file, str(port).encode())
    log.info("agent_started", worker=worker.id, cohort=worker.cohort, http_port=port)

    async with client:

        async def read() -> float:
            seen = await observer.look()
            mirror.reading = Reading(
                seen=seen,
                held=needs.held(worker, seen),
                connected=link.connected,
                lease_valid=seen.leased(time.monotonic()) is not None,
                trainer_running=supervisor.trainer.running,
                trainer_parked=supervisor.trainer.parked,
                trainer_memory_bytes=supervisor.memory.trainer_bytes,
            )
            return READING_SECONDS

        async def reap_ended() -> float:
            handle = None if process is None else process.handle
            reap(() if handle is None else (handle,))
            return REAP_SECONDS

        tasks = [
            asyncio.create_task(task)
            for task in (
                loops.keep("reap", reap_ended, patience_seconds=PATIENCE_SECONDS),
                loops.keep("supervise", supervisor.watch, patience_seconds=PATIENCE_SECONDS),
                loops.keep(
                    "heartbeat",
                    link.beat,
                    patience_seconds=PATIENCE_SECONDS,
                    wake=link.beat_soon,
                ),
                loops.keep(
                    "transfer",
                    link.move,
                    patience_seconds=TRANSFER_PATIENCE_SECONDS,
                    wake=link.move_soon,
                ),
                loops.keep("deliver", delivery.deliver, patience_seconds=PATIENCE_SECONDS),
                loops.keep("witness", witness.watch, patience_seconds=PATIENCE_SECONDS),
                loops.keep("evidence", sender.send, patience_seconds=PATIENCE_SECONDS),
                loops.keep("read", read, patience_seconds=PATIENCE_SECONDS),
            )
        ]
        await stop.wait()
        log.info("agent_stopping")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await sender.keep()
        await supervisor.stop()
    server.close()
    return 0


def trainer_process(settings: Settings, environment: Mapping[str, str]) -> TrainerProcess:
    """Return the trainer with the command and the settings that follow from the agent's own."""
    command = settings.trainer_command or (sys.executable, "-m", "specfleet_trainer")
    prefix = "SPECFLEET_TRAINER_"
    return TrainerProcess(
        command,
        {
            **environment,
            f"{prefix}STATE_DIRECTORY": str(settings.state_directory),
            f"{prefix}SHM_DIRECTORY": str(settings.shm_directory),
            f"{prefix}MODEL": str(settings.model),
            f"{prefix}COHORT": settings.cohort,
            f"{prefix}THREADS": str(settings.trainer_threads),
            f"{prefix}CORES": json.dumps(sorted(settings.trainer_cores)),
            # Else torch would ask for a user's name, and write where nothing may be written.
            "TORCHINDUCTOR_CACHE_DIR": str(settings.state_directory / "torch"),
            # Threads that wait for work must not spin on cores that the engine wants.
            "OMP_WAIT_POLICY": "PASSIVE",
            "KMP_BLOCKTIME": "0",
            # So that a trainer whose agent dies before it could arrange to die with it notices.
            f"{prefix}PARENT_PID": str(os.getpid()),
        },
    )
