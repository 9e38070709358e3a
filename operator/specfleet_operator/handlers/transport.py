"""Runs kopf for as long as the operator runs, once there is something that it can watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import kopf
import structlog

from specfleet_operator.api import Cluster, Refused, Unreachable
from specfleet_operator.handlers.fleets import kopf_settings
from specfleet_operator.kinds import FLEET, Kind

log = structlog.get_logger()

DEFINITION_SECONDS = 5.0


async def watch_fleets(
    cluster: Cluster,
    registry: kopf.OperatorRegistry,
    *,
    namespaces: tuple[str, ...],
    identity: str,
    started: Callable[[], None],
) -> None:
    """Have kopf tell the handlers of all fleets in the namespaces, or in all when there are none.

    `started` is called when kopf has set itself up, and with it the process's signals.
    """
    while not await _is_defined(FLEET, cluster):
        log.warning("definition_missing", kind=FLEET.name, next_seconds=DEFINITION_SECONDS)
        await asyncio.sleep(DEFINITION_SECONDS)
    before = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=kopf_settings(),
        # Without one, kopf asks for the user's name, and a container's user has none.
        identity=cast(Any, identity),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=namespaces,
    )
    started()
    await kopf.run_tasks(tasks, ignored=before)


async def _is_defined(kind: Kind, cluster: Cluster) -> bool:
    try:
        return kind.name in await cluster.kinds(kind.api_version)
    except (Unreachable, Refused) as error:
        log.warning("kinds_unknown", api_version=kind.api_version, error=str(error))
        return False
