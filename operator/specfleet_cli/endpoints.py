"""`fleet.json`: where a running fleet is, for other tools; replaced whole at every restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specfleet_cli.plan import FleetPlan, ProcessPlan
from specfleet_cli.supervising import ProcessState
from specfleet_common.files import write_file
from specfleet_common.mistakes import summary
from specfleet_common.store.location import Location

FILE_NAME = "fleet.json"


class EndpointsError(ValueError):
    """The file is not there, or not one of this version."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One process; `pid` is None while it does not run."""

    name: str
    url: str
    pid: int | None
    starts: int
    log: str


@dataclass(frozen=True, slots=True)
class Worker:
    """An engine with its agent."""

    name: str
    cohort: str
    serve: str
    train: bool
    worker_id: str
    shm_directory: str
    state_directory: str
    engine: Endpoint
    agent: Endpoint


@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything that runs; the aggregator's address is host:port, for gRPC.

    Whoever calls it shows the token that is in the file.
    """

    fleet: str
    pid: int
    served_model_name: str
    store: Location
    aggregator_address: str
    token_file: str
    aggregator: Endpoint
    workers: tuple[Worker, ...]


def describe(plan: FleetPlan, states: Mapping[str, ProcessState], *, pid: int) -> Fleet:
    """Return where everything is now; `pid` is the run's own."""

    def endpoint(process: ProcessPlan) -> Endpoint:
        state = states.get(process.name)
        return Endpoint(
            name=process.name,
            url=process.url,
            pid=state.pid if state else None,
            starts=state.starts if state else 0,
            log=str(process.log),
        )

    return Fleet(
        fleet=plan.fleet,
        pid=pid,
        served_model_name=plan.served_model_name,
        store=plan.store,
        aggregator_address=plan.aggregator_address,
        token_file=str(plan.token_file),
        aggregator=endpoint(plan.aggregator),
        workers=tuple(
            Worker(
                name=worker.name,
                cohort=worker.cohort.name,
                serve=worker.cohort.serve.value,
                train=worker.cohort.train,
                worker_id=worker.worker_id,
                shm_directory=str(worker.shm_directory),
                state_directory=str(worker.state_directory),
                engine=endpoint(worker.engine),
                agent=endpoint(worker.agent),
            )
            for worker in plan.workers
        ),
    )


def write_fleet(path: Path, fleet: Fleet) -> None:
    """Replace the file in one step."""
    write_file(path, TypeAdapter(Fleet).dump_json(fleet, indent=2))


def read_fleet(path: Path) -> Fleet:
    """Return what is in the file; EndpointsError when that is not a fleet."""
    try:
        return TypeAdapter(Fleet).validate_json(path.read_bytes())
    except OSError as error:
        raise EndpointsError(f"{path}: cannot be read, is the fleet running? {error}") from error
    except ValidationError as error:
        raise EndpointsError(
            f"{path}: not written by this version of specfleet: {summary(error)}"
        ) from error
