"""Decides which processes a fleet needs, with which commands and environments.

Pure: ports, paths and identities are arguments. Starting anything is `supervising`'s work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specfleet_common.api.fleet import Cohort, SpeculatorFleet
from specfleet_common.store.location import DirectoryLocation, Location, S3Location

DEPTH_DECAY = 0.8
HEARTBEAT_SECONDS = 1


class Kind(StrEnum):
    """What a process is."""

    AGGREGATOR = "aggregator"
    ENGINE = "engine"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """One process that is kept running; `environment` is added to the inherited one."""

    name: str
    kind: Kind
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    url: str
    """The base of its HTTP interface."""
    health_path: str
    """Where HTTP 200 says that it is ready."""
    stop_seconds: float
    """How long it may take to end after SIGTERM."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """An engine, its agent, and what only these two share."""

    name: str
    cohort: Cohort
    worker_id: str
    shm_directory: Path
    state_directory: Path
    engine: ProcessPlan
    agent: ProcessPlan


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Everything that runs, in the order in which it starts."""

    fleet: str
    served_model_name: str
    store: Location
    aggregator: ProcessPlan
    aggregator_address: str
    """host:port, for gRPC."""
    workers: tuple[WorkerPlan, ...]

    @property
    def processes(self) -> tuple[ProcessPlan, ...]:
        """Return every process: the aggregator, the engines, the agents."""
        engines = tuple(worker.engine for worker in self.workers)
        return (self.aggregator, *engines, *(worker.agent for worker in self.workers))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the fleet of one run lives on this machine; `run_id` differs from run to run."""

    python: str
    out: Path
    shm_directory: Path
    run_id: str


def num_ports(fleet: SpeculatorFleet) -> int:
    """Return how many ports `plan` needs: two for the aggregator, two per engine."""
    return 2 + 2 * sum(cohort.replicas for cohort in fleet.spec.all_cohorts)


def plan(fleet: SpeculatorFleet, place: Place, ports: Sequence[int]) -> FleetPlan:
    """Return the processes of the fleet; `ports` are free ones, `num_ports` of them."""
    aggregator_port, metrics_port, *worker_ports = ports
    aggregator_address = _address(aggregator_port)
    members = [
        (cohort, f"{cohort.name}-{index}")
        for cohort in fleet.spec.all_cohorts
        for index in range(cohort.replicas)
    ]
    pairs = zip(worker_ports[::2], worker_ports[1::2], strict=True)
    return FleetPlan(
        fleet=fleet.metadata.name,
        served_model_name=fleet.served_model_name,
        store=store_location(fleet),
        aggregator=_aggregator(fleet, place, aggregator_address, metrics_port),
        aggregator_address=aggregator_address,
        workers=tuple(
            _worker(
                fleet,
                place,
                cohort=cohort,
                name=name,
                aggregator=aggregator_address,
                engine_port=engine_port,
                agent_port=agent_port,
            )
            for (cohort, name), (engine_port, agent_port) in zip(members, pairs, strict=True)
        ),
    )


def _aggregator(
    fleet: SpeculatorFleet, place: Place, address: str, metrics_port: int
) -> ProcessPlan:
    aggregation, trainer = fleet.spec.aggregation, fleet.spec.trainer
    settings = {
        "FLEET": fleet.metadata.name,
        "LISTEN": address,
        "METRICS_PORT": str(metrics_port),
        **_store_settings(store_location(fleet)),
        "LOCAL_STEPS": str(aggregation.local_steps),
        "QUORUM_MINIMUM": str(aggregation.quorum.minimum),
        "QUORUM_PERCENT": str(aggregation.quorum.percent),
        "LEASE_SECONDS": str(aggregation.lease_seconds),
        "HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
        "MAX_ROUND_SECONDS": str(aggregation.max_round_seconds),
        "OUTER_LEARNING_RATE": aggregation.outer.learning_rate,
        "OUTER_MOMENTUM": aggregation.outer.momentum,
        "CODEC": aggregation.codec.value,
        "LEARNING_RATE": trainer.learning_rate,
        "DEPTH_WEIGHTS": json.dumps(depth_weights(fleet)),
        "DPACE": str(trainer.depth_weights == "DPACE").lower(),
        "ROWS_PER_STEP": str(trainer.rows_per_step),
        "PUBLISH_EVERY_STEPS": str(trainer.publish_every_steps),
    }
    return ProcessPlan(
        name="aggregator",
        kind=Kind.AGGREGATOR,
        command=(place.python, "-m", "specfleet_aggregator"),
        environment=_environment("SPECFLEET_AGGREGATOR_", settings),
        log=_log(place, "aggregator"),
        url=f"http://{_address(metrics_port)}",
        health_path="/metrics",
        stop_seconds=5.0,
    )


def store_location(fleet: SpeculatorFleet) -> Location:
    """Return where the fleet's entries are; in a bucket, below its namespace and its name."""
    store, metadata = fleet.spec.store, fleet.metadata
    if store.directory is not None:
        return DirectoryLocation(path=Path(store.directory.path))
    assert store.s3 is not None
    names = (store.s3.prefix, metadata.namespace, metadata.name)
    return S3Location(
        endpoint=store.s3.endpoint,
        bucket=store.s3.bucket,
        prefix="/".join(name for name in names if name is not None),
        region=store.s3.region,
        addressing=store.s3.addressing,
        ca_file=None if store.s3.ca_file is None else Path(store.s3.ca_file),
    )


def _store_settings(location: Location) -> dict[str, str]:
    if isinstance(location, DirectoryLocation):
        return {"STORE_DIRECTORY": str(location.path)}
    return {"STORE_S3": location.model_dump_json(exclude_none=True)}


def depth_weights(fleet: SpeculatorFleet) -> list[float]:
    """Return the weight of the loss of every drafted token; D-PACE needs their number only."""
    weights = fleet.spec.trainer.depth_weights
    if isinstance(weights, tuple):
        return [float(weight) for weight in weights]
    depths = fleet.spec.drafter.num_speculative_tokens
    return [round(DEPTH_DECAY**depth, 6) for depth in range(depths)]


def _worker(
    fleet: SpeculatorFleet,
    place: Place,
    *,
    cohort: Cohort,
    name: str,
    aggregator: str,
    engine_port: int,
    agent_port: int,
) -> WorkerPlan:
    shm_directory = place.shm_directory / name
    state_directory = place.out / "state" / name
    worker_id = f"{name}-{place.run_id}"
    settings = {
        "AGGREGATOR": aggregator,
        "WORKER_ID": worker_id,
        "COHORT": cohort.name,
        "TRAIN": str(cohort.train).lower(),
        "SERVE": cohort.serve.value,
        "STATE_DIRECTORY": str(state_directory),
        "SHM_DIRECTORY": str(shm_directory),
        "MODEL": fleet.spec.target.model,
        "HTTP_PORT": str(agent_port),
        "TRAINER_THREADS": str(fleet.spec.trainer.threads),
    }
    agent = ProcessPlan(
        name=f"agent-{name}",
        kind=Kind.AGENT,
        command=(place.python, "-m", "specfleet_agent"),
        environment=_environment("SPECFLEET_AGENT_", settings),
        log=_log(place, f"agent-{name}"),
        url=f"http://{_address(agent_port)}",
        health_path="/healthz",
        # Longer than the 5 s that the agent gives its trainer.
        stop_seconds=8.0,
    )
    return WorkerPlan(
        name=name,
        cohort=cohort,
        worker_id=worker_id,
        shm_directory=shm_directory,
        state_directory=state_directory,
        engine=_engine(
            fleet, place, train=cohort.train, name=name, port=engine_port, shm=shm_directory
        ),
        agent=agent,
    )


def _engine(
    fleet: SpeculatorFleet, place: Place, *, train: bool, name: str, port: int, shm: Path
) -> ProcessPlan:
    capture = fleet.spec.trainer.capture
    settings = {
        "SHM_DIRECTORY": str(shm),
        "FLEET": fleet.metadata.name,
        "CAPTURE": str(int(train)),
        "FOLLOW_REQUESTS": str(capture.follow_requests),
        "MAX_TOKENS": str(capture.max_tokens),
        "HOLDOUT_PERCENT": str(capture.holdout_percent),
        "KEY_TOKENS": str(capture.key_tokens),
    }
    return ProcessPlan(
        name=f"engine-{name}",
        kind=Kind.ENGINE,
        command=(place.python, *_engine_arguments(fleet, port)),
        environment={
            # The model is a directory of this machine, and no run reports anything to anyone.
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            **{variable.name: variable.value for variable in fleet.spec.engine.env},
            **_environment("SPECFLEET_ENGINE_", settings),
            # The plugin has no adapter for vLLM's second model runner.
            "VLLM_USE_V2_MODEL_RUNNER": "0",
        },
        log=_log(place, f"engine-{name}"),
        url=f"http://{_address(port)}",
        health_path="/health",
        stop_seconds=10.0,
    )


def _engine_arguments(fleet: SpeculatorFleet, port: int) -> tuple[str, ...]:
    target, drafter = fleet.spec.target, fleet.spec.drafter
    speculation = {
        "method": drafter.family,
        "num_speculative_tokens": drafter.num_speculative_tokens,
    }
    arguments = ["-m", "vllm.entrypoints.openai.api_server", "--model", target.model]
    arguments += ["--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--served-model-name", fleet.served_model_name]
    if target.dtype is not None:
        arguments += ["--dtype", target.dtype]
    if target.max_model_len is not None:
        arguments += ["--max-model-len", str(target.max_model_len)]
    arguments += ["--speculative-config", json.dumps(speculation)]
    # Compiling for the CPU takes minutes and gains nothing on a small model.
    arguments += ["--enforce-eager", *fleet.spec.engine.args]
    return tuple(arguments)


def _environment(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    prefixed = {prefix + name: value for name, value in settings.items()}
    return {**prefixed, "PYTHONUNBUFFERED": "1"}


def _address(port: int) -> str:
    return f"127.0.0.1:{port}"


def _log(place: Place, name: str) -> Path:
    return place.out / "logs" / f"{name}.log"
