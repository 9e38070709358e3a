"""Sends a fleet requests for as long as a test does something to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import DOCUMENTS, Load
from e2e.cluster_traffic.watching import Watch
from e2e.kubernetes.fleet import Fleet
from specfleet_cli.traffic.prompts import Document

CLIENTS = Load(clients=4)

_FIRST_SECONDS = 60.0


@contextmanager
def traffic(
    fleet: Fleet,
    *,
    service: str | None = None,
    load: Load = CLIENTS,
    documents: Sequence[Document] = DOCUMENTS,
) -> Iterator[Watch]:
    """Send requests to a Service, the fleet's own if none is named.

    The block begins when the first are answered.
    """
    found = fleet.client.get("-n", fleet.namespace, "service", service or fleet.name)["spec"]
    url = f"http://{found['clusterIP']}:{found['ports'][0]['port']}"
    with running_traffic(url, load, documents) as watch:
        watch.until(requests=load.clients or 1, seconds=_FIRST_SECONDS)
        yield watch
