"""kopf as a transport: it tells of changes to fleets, and never writes.

It gets a session that refuses everything but reading, so that neither its finalizers nor its
annotations can reach an object, whatever its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import kopf

from specfleet_common.back_off import back_off_seconds
from specfleet_operator.kinds import FLEET
from specfleet_operator.naming import GROUP
from specfleet_operator.observed import Object

SERVER_SECONDS = 290
CLIENT_SECONDS = 300.0
SILENCE_SECONDS = 90.0
REQUEST_SECONDS = 10.0
PAGE_ITEMS = 250
LAST_PAUSE_SECONDS = 15.0


class _ForEver:
    """Pauses between attempts: an API server that is away comes back some time."""

    def __iter__(self) -> Iterator[float]:
        num_failures = 0
        while True:
            num_failures += 1
            yield back_off_seconds(num_failures, last_seconds=LAST_PAUSE_SECONDS)


def kopf_settings() -> kopf.OperatorSettings:
    """Return the settings with which kopf watches and does nothing else."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.persistence.finalizer = f"{GROUP}/unused"
    settings.persistence.progress_storage = kopf.StatusProgressStorage(field="status.unused")
    settings.persistence.diffbase_storage = kopf.StatusDiffBaseStorage(field="status.unused")
    settings.process.ultimate_exiting_timeout = None
    settings.watching.server_timeout = SERVER_SECONDS
    settings.watching.client_timeout = CLIENT_SECONDS
    settings.watching.connect_timeout = REQUEST_SECONDS
    settings.watching.inactivity_timeout = SILENCE_SECONDS
    settings.watching.chunk_size = PAGE_ITEMS
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.error_backoffs = _ForEver()
    return settings


def kopf_registry(
    tell: Callable[[Object, bool], None], new_session: Callable[[], aiohttp.ClientSession], url: str
) -> kopf.OperatorRegistry:
    """Return handlers that pass every change of a fleet on to `tell`, with whether it is gone."""
    registry = kopf.OperatorRegistry()

    async def log_in(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=url, aiohttp_session=new_session())

    async def fleet_changed(event: Any, **_: Any) -> None:
        item = dict(event["object"]) | {"apiVersion": FLEET.api_version, "kind": FLEET.name}
        metadata = {k: v for k, v in item["metadata"].items() if k != "managedFields"}
        tell(item | {"metadata": metadata}, event["type"] == "DELETED")

    kopf.on.login(registry=registry)(log_in)
    group, _, version = FLEET.api_version.partition("/")
    kopf.on.event(group, version, FLEET.plural, registry=registry)(fleet_changed)
    return registry
