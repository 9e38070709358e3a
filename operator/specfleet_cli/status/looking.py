"""Looks at the fleets that are meant: at runs of this machine, or at objects of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import httpx

from specfleet_cli.access import Access as ClusterAccess
from specfleet_cli.access import ClusterError
from specfleet_cli.endpoints import FILE_NAME, Fleet
from specfleet_cli.promotions.places import OUT, Run, SourceError, running
from specfleet_cli.promotions.where import Where
from specfleet_cli.status import of_run
from specfleet_cli.status.report import Report, StatusError
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.client import AggregatorClient, Refused, Unreachable
from specfleet_common.wire.messages import FleetState

MISTAKES = (ClusterError, SourceError, StatusError)
"""What a user can answer; the messages say how."""

_SECONDS = 5.0
_QUIET_SECONDS = 0.5
"""An aggregator tells of all lineages at once; after this long without another, that was all."""

Look = Callable[[], tuple[Report, ...]]


@contextmanager
def looking(name: str | None, where: Where, *, in_cluster: bool) -> Iterator[Look]:
    """Give a function that looks at the fleet of this name, or at all that are there.

    It raises one of MISTAKES when there is none.
    """
    if where.is_local and where.is_in_a_cluster:
        raise StatusError(
            "--directory names a place of this machine, --namespace, --kubeconfig and --context "
            "one in a cluster: expected only one of the two"
        )
    if where.is_in_a_cluster or (in_cluster and not where.is_local):
        # The client takes longer to import than all the rest.
        from specfleet_cli.api_server import connected
        from specfleet_cli.status.of_cluster import look

        access = ClusterAccess(where.namespace, where.kubeconfig, where.context)
        with connected(access) as server:
            yield lambda: look(server, name)
        return
    yield lambda: tuple(asyncio.run(_seen(run.fleet)) for run in _runs(name, where.directory))


def names(where: Where, *, in_cluster: bool) -> tuple[str, ...]:
    """Return the names of the fleets that `looking` would find; one of MISTAKES otherwise."""
    if where.is_in_a_cluster or (in_cluster and not where.is_local):
        from specfleet_cli.api_server import FLEETS, VERSION, connected

        access = ClusterAccess(where.namespace, where.kubeconfig, where.context)
        with connected(access) as server:
            return tuple(item["metadata"]["name"] for item in server.items(VERSION, FLEETS))
    return tuple(run.fleet.fleet for run in _runs(None, where.directory))


def _runs(name: str | None, directory: Path | None) -> tuple[Run, ...]:
    """Return the runs of this machine that are meant."""
    if directory is not None:
        found: tuple[Run, ...] = (running(directory),)
    else:
        places = sorted(file.parent for file in OUT.glob(f"*/{FILE_NAME}"))
        found = tuple(map(running, places)) or (running(None),)
    if name is None:
        return found
    named = tuple(run for run in found if run.fleet.fleet == name)
    if not named:
        known = ", ".join(run.fleet.fleet for run in found)
        raise StatusError(f"{name}: does not run here, expected one of {known}")
    return named


async def _seen(fleet: Fleet) -> Report:
    """Ask the processes of a run what they do."""
    access = access_by_files(token_file=Path(fleet.token_file))
    (states, silence), answering = await asyncio.gather(
        _told(AggregatorClient(fleet.aggregator_address, access)), _answering(fleet)
    )
    return of_run.report_of(of_run.Seen(fleet, answering, states, silence))


async def _told(aggregator: AggregatorClient) -> tuple[tuple[FleetState, ...], str]:
    """Return what an aggregator tells of its lineages, and why it tells nothing."""
    found: dict[str, FleetState] = {}
    try:
        async with aggregator as client, asyncio.timeout(_SECONDS) as limit:
            async for state in client.watch_state():
                found[state.lineage_id] = state
                limit.reschedule(asyncio.get_running_loop().time() + _QUIET_SECONDS)
    except TimeoutError:
        return tuple(found.values()), f"it did not answer within {_SECONDS:.0f} s"
    except (Unreachable, Refused) as error:
        return tuple(found.values()), str(error)
    return tuple(found.values()), "it told nothing"


async def _answering(fleet: Fleet) -> frozenset[str]:
    """Return the names of the workers whose engines say that they are ready."""
    async with httpx.AsyncClient(trust_env=False, timeout=_SECONDS) as client:
        answers = await asyncio.gather(
            *(_is_ready(client, f"{worker.engine.url}/health") for worker in fleet.workers)
        )
    names: Mapping[str, bool] = {
        worker.name: ready for worker, ready in zip(fleet.workers, answers, strict=True)
    }
    return frozenset(name for name, ready in names.items() if ready)


async def _is_ready(client: httpx.AsyncClient, url: str) -> bool:
    try:
        answer = await client.get(url)
    except httpx.HTTPError:
        return False
    return answer.status_code == HTTPStatus.OK
