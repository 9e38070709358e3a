"""Promotions in a Kubernetes cluster, as whoever the kubeconfig names: read, and decided about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from specfleet_cli import api_server
from specfleet_cli.access import Access, ClusterError
from specfleet_cli.api_server import FLEETS, PROMOTIONS, VERSION, ApiServer
from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.objects import listed_object
from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.promotion import Decision


class Cluster:
    """One namespace of a cluster."""

    def __init__(self, server: ApiServer) -> None:
        self.namespace = server.namespace
        self._server = server

    def promotions(self) -> tuple[Listed, ...]:
        """Return all promotions of the namespace, the newest first."""
        found = map(listed_object, self._server.items(VERSION, PROMOTIONS))
        return tuple(sorted(found, key=lambda one: (-one.state.started_at, one.name)))

    def decide(self, name: str, decision: Decision) -> None:
        """Write a decision into a promotion."""
        self._server.patch(VERSION, PROMOTIONS, name, {"spec": {"decision": decision.value}})

    def fleet(self, name: str) -> SpeculatorFleet:
        """Return what the spec of a fleet says."""
        item = self._server.get(VERSION, FLEETS, name)
        try:
            return fleet_from_object(item)
        except ValueError as error:
            reasons = "; ".join(str(error).splitlines())
            raise ClusterError(f"speculatorfleet {name}: {reasons}") from error

    def secret(self, name: str) -> dict[str, bytes]:
        """Return what a Secret holds."""
        return self._server.secret(name)


@contextmanager
def connected(access: Access) -> Iterator[Cluster]:
    """Give the cluster that a kubeconfig names; nothing is asked of it yet."""
    with api_server.connected(access) as server:
        yield Cluster(server)
