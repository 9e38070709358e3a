"""Who looks after a namespace when a cluster-wide and a namespaced operator are installed.

The namespaced operator marks its namespaces by a Lease, and the cluster-wide one leaves those
alone until the Lease has run out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from specfleet_operator.api import Cluster
from specfleet_operator.informers import Informer
from specfleet_operator.kinds import LEASE
from specfleet_operator.leading import LeaseHolder
from specfleet_operator.leases import PAUSE_SHARE, Sighting, holder_of, is_over, sighted
from specfleet_operator.store import Store

log = structlog.get_logger()

CLAIM_LEASE = "specfleet-operator-namespace"
CLAIM_SECONDS = 30.0
LOOK_SECONDS = 1.0


def claim(
    cluster: Cluster,
    namespace: str,
    *,
    holder: str,
    clock: Callable[[], float],
    wall_clock: Callable[[], float],
) -> LeaseHolder:
    """Return what marks a namespace."""
    return LeaseHolder(
        cluster,
        namespace=namespace,
        name=CLAIM_LEASE,
        holder=holder,
        lease_seconds=CLAIM_SECONDS,
        clock=clock,
        wall_clock=wall_clock,
    )


class MarkedTerritory:
    """The namespaces a namespaced operator was given, as far as it could mark them."""

    def __init__(self, marks: Mapping[str, LeaseHolder]) -> None:
        self._marks = marks

    def has(self, namespace: str) -> bool:
        """Say whether the namespace's mark is ours."""
        return namespace in self._marks and self._marks[namespace].holds()

    async def keep(self, newly_ours: Callable[[str], None], leads: asyncio.Event) -> None:
        """Take the marks, once this operator leads, and renew them.

        `newly_ours` hears of every namespace that was won.
        """
        await leads.wait()
        while True:
            for namespace, mark in self._marks.items():
                before = mark.holds()
                after = await mark.try_to_hold()
                if after and not before:
                    newly_ours(namespace)
                if not after:
                    log.warning("namespace_not_ours", namespace=namespace)
            await asyncio.sleep(CLAIM_SECONDS * PAUSE_SHARE)


def unmarked_territory(
    cluster: Cluster, clock: Callable[[], float]
) -> tuple[UnmarkedTerritory, Informer]:
    """Return what knows of others' marks, and what follows these."""
    marks = Store()
    selector = f"={CLAIM_LEASE}"
    informer = Informer(
        cluster, marks, LEASE, None, selector=selector, mark=lambda _: None, clock=clock
    )
    return UnmarkedTerritory(marks, clock), informer


class UnmarkedTerritory:
    """All namespaces but those that others have marked; `store` has the marks."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._seen: dict[str, Sighting] = {}

    def has(self, namespace: str) -> bool:
        """Say whether nobody's mark is on the namespace."""
        seen = self._look(namespace)
        if seen.lease is None or not holder_of(seen.lease):
            return True
        return is_over(seen, now=self._clock())

    async def keep(self) -> None:
        """Notice for how long the marks have not changed."""
        while True:
            for mark in self._store.of_kind(LEASE):
                self._look(mark["metadata"]["namespace"])
            await asyncio.sleep(LOOK_SECONDS)

    def _look(self, namespace: str) -> Sighting:
        mark = self._store.get(LEASE, namespace, CLAIM_LEASE)
        seen = sighted(self._seen.get(namespace), mark, self._clock())
        self._seen[namespace] = seen
        return seen
