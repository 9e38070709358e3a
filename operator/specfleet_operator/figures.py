"""Metrics about single fleets, made from what is known of them whenever Prometheus asks.

So they are gone with their fleet, and never say anything else than its status does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from specfleet_common.telemetry import operator as names
from specfleet_common.telemetry.metric import gauge_family
from specfleet_operator.kinds import FLEET
from specfleet_operator.observed import Object
from specfleet_operator.store import FleetKey, Store

STATUSES = ("True", "False", "Unknown")


class FleetFigures(Collector):
    """Shows the fleets of namespaces that this process works in; others show theirs themselves.

    `certificate_ends` has when their aggregators' certificates end.
    """

    def __init__(
        self,
        fleets: Store,
        works_in: Callable[[str], bool],
        certificate_ends: Mapping[FleetKey, float],
    ) -> None:
        self._fleets = fleets
        self._works_in = works_in
        self._certificate_ends = certificate_ends

    def collect(self) -> Iterable[Family]:
        """Return the metrics of now."""
        fleets = [
            fleet
            for fleet in self._fleets.of_kind(FLEET)
            if self._works_in(fleet["metadata"]["namespace"])
        ]
        ends = self._certificate_ends.items()
        return (
            conditions(fleets),
            certificates({fleet: end for fleet, end in ends if self._works_in(fleet.namespace)}),
        )


def conditions(fleets: Iterable[Object]) -> Family:
    """Return which status each condition of each fleet has."""
    statuses = (sample for fleet in fleets for sample in _statuses(fleet))
    return gauge_family(names.FLEET_CONDITION, statuses)


def certificates(ends: Mapping[FleetKey, float]) -> Family:
    """Return when the certificate of each fleet's aggregator ends."""
    samples = (((fleet.namespace, fleet.name), end) for fleet, end in ends.items())
    return gauge_family(names.CERTIFICATE_EXPIRY, samples)


def _statuses(fleet: Object) -> Iterator[tuple[tuple[str, ...], float]]:
    metadata = fleet["metadata"]
    for condition in (fleet.get("status") or {}).get("conditions") or ():
        for status in STATUSES:
            labels = (metadata["namespace"], metadata["name"], condition["type"], status)
            yield labels, float(condition["status"] == status)
