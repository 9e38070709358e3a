"""Talks to the real API server of the tests, as an administrator."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.calling import Caller
from specfleet_operator.cluster import KubernetesCluster
from specfleet_operator.connecting import Connection

_numbers = itertools.count(1)


def cluster_of(
    connection: Connection,
    *,
    may_write: bool = True,
    only_reads: bool = False,
    url: str | None = None,
    retry_seconds: float = 5.0,
) -> KubernetesCluster:
    """Return the API server behind a connection."""
    caller = Caller(
        connection.session(only_reads=only_reads),
        url or connection.url,
        request_seconds=10.0,
        retry_seconds=retry_seconds,
        may_write=lambda: may_write,
        count_write=lambda verb, kind: None,
    )
    return KubernetesCluster(caller)


def new_namespace(plane: ControlPlane) -> str:
    """Make a namespace that no other test uses."""
    name = f"test-{os.getpid()}-{next(_numbers)}"
    plane.client.kubectl("create", "namespace", name)
    return name


async def until(holds: Callable[[], Awaitable[object]], *, seconds: float = 60.0) -> None:
    """Wait until something is true; TimeoutError when it does not become so."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.1)
