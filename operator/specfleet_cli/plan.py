"""Decides which processes a fleet needs, with which commands and environments.

Pure: ports, paths and identities are arguments. Starting anything is `supervising`'s work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specfleet_common.api.fleet import Cohort, SpeculatorFleet
from specfleet_common.api.learning import LearningSettings, learning_settings
from specfleet_common.commands.agent import MODULE as AGENT_MODULE
from specfleet_common.commands.agent import agent_environment
from specfleet_common.commands.aggregator import store_location, store_settings
from specfleet_common.commands.engine import engine_arguments, engine_environment
from specfleet_common.commands.environment import prefixed
from specfleet_common.store.location import Location

SETTINGS_FILE_NAME = "settings.json"
"""In the directory of a run: how the fleet learns, and what users have decided."""


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
    settings: LearningSettings
    settings_file: Path
    """Where the aggregator finds the settings, and sees when they change."""
    token_file: Path
    """The secret that all who call the aggregator share."""
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

    @property
    def settings_file(self) -> Path:
        """Return where the aggregator finds how the fleet learns."""
        return self.out / SETTINGS_FILE_NAME

    @property
    def token_file(self) -> Path:
        """Return where the secret is that the processes of the run share."""
        return self.out / "token"


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
        settings=learning_settings(fleet, uid=place.run_id, generation=1),
        settings_file=place.settings_file,
        token_file=place.token_file,
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
    settings = {
        "FLEET": fleet.metadata.name,
        "LISTEN": address,
        "METRICS_PORT": str(metrics_port),
        **store_settings(store_location(fleet)),
        "SETTINGS_FILE": str(place.settings_file),
        "TOKEN_FILE": str(place.token_file),
    }
    return ProcessPlan(
        name="aggregator",
        kind=Kind.AGGREGATOR,
        command=(place.python, "-m", "specfleet_aggregator"),
        environment=prefixed("SPECFLEET_AGGREGATOR_", settings),
        log=_log(place, "aggregator"),
        url=f"http://{_address(metrics_port)}",
        health_path="/metrics",
        stop_seconds=5.0,
    )


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
    agent = ProcessPlan(
        name=f"agent-{name}",
        kind=Kind.AGENT,
        command=(place.python, "-m", AGENT_MODULE),
        environment={
            **agent_environment(
                fleet,
                cohort,
                aggregator=aggregator,
                model=fleet.spec.target.model,
                state_directory=str(state_directory),
                shm_directory=str(shm_directory),
                http_port=agent_port,
            ),
            "SPECFLEET_AGENT_WORKER_ID": worker_id,
            "SPECFLEET_AGENT_TOKEN_FILE": str(place.token_file),
        },
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
        engine=_engine(fleet, place, cohort=cohort, name=name, port=engine_port, shm=shm_directory),
        agent=agent,
    )


def _engine(
    fleet: SpeculatorFleet, place: Place, *, cohort: Cohort, name: str, port: int, shm: Path
) -> ProcessPlan:
    arguments = engine_arguments(fleet, model=fleet.spec.target.model, host="127.0.0.1", port=port)
    return ProcessPlan(
        name=f"engine-{name}",
        kind=Kind.ENGINE,
        command=(place.python, *arguments),
        environment=engine_environment(fleet, cohort, shm_directory=str(shm)),
        log=_log(place, f"engine-{name}"),
        url=f"http://{_address(port)}",
        health_path="/health",
        stop_seconds=10.0,
    )


def _address(port: int) -> str:
    return f"127.0.0.1:{port}"


def _log(place: Place, name: str) -> Path:
    return place.out / "logs" / f"{name}.log"
