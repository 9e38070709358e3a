"""Tells people what happened to a fleet: Kubernetes Events, of which repetitions are counted."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from specfleet_operator.api import Cluster, NotFound
from specfleet_operator.happenings import Happening
from specfleet_operator.kinds import EVENT
from specfleet_operator.naming import FIELD_MANAGER, GROUP
from specfleet_operator.observed import Object

REPEAT_SECONDS = 300.0
"""A repetition is written at most this often."""
FORGET_SECONDS = 3600.0
MAX_NOTE_BYTES = 1024


@dataclass(slots=True)
class _Told:
    name: str
    count: int
    written_at: float
    last_at: float


class Events:
    """Remembers what was told lately, so that the same thing again is one Event with a count."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        instance: str,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._instance = instance
        self._clock = clock
        self._wall_clock = wall_clock
        self._told: dict[tuple[str, Happening], _Told] = {}

    async def tell(self, fleet: Object, happening: Happening) -> None:
        """Write an Event about the fleet, or count one that was written."""
        now = self._clock()
        self._told = {
            key: told for key, told in self._told.items() if now - told.last_at < FORGET_SECONDS
        }
        metadata = fleet["metadata"]
        key = (metadata["uid"], happening)
        told = self._told.get(key)
        if told is None:
            await self._tell_anew(fleet, happening, now)
            return
        told.count += 1
        told.last_at = now
        if now - told.written_at < REPEAT_SECONDS:
            return
        told.written_at = now
        series = {"count": told.count, "lastObservedTime": _time(self._wall_clock())}
        try:
            await self._cluster.merge(EVENT, metadata["namespace"], told.name, {"series": series})
        except NotFound:
            # API servers forget Events, some of them soon.
            await self._tell_anew(fleet, happening, now)

    async def _tell_anew(self, fleet: Object, happening: Happening, now: float) -> None:
        event = self._event(fleet, happening)
        await self._cluster.create(event)
        key = (fleet["metadata"]["uid"], happening)
        self._told[key] = _Told(event["metadata"]["name"], 1, now, now)

    def _event(self, fleet: Object, happening: Happening) -> dict[str, Any]:
        metadata = fleet["metadata"]
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {
                "name": f"{metadata['name']}.{secrets.token_hex(8)}",
                "namespace": metadata["namespace"],
            },
            "eventTime": _time(self._wall_clock()),
            "reportingController": f"{GROUP}/{FIELD_MANAGER}",
            "reportingInstance": self._instance,
            "action": "Reconcile",
            "type": happening.type,
            "reason": happening.reason,
            "note": _shortened(happening.message),
            "regarding": {
                "apiVersion": fleet["apiVersion"],
                "kind": fleet["kind"],
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        }


def _shortened(message: str) -> str:
    return message.encode()[:MAX_NOTE_BYTES].decode(errors="ignore")


def _time(wall_clock: float) -> str:
    return datetime.fromtimestamp(wall_clock, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
