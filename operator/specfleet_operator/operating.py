"""Puts the operator's parts together, starts them and ends them."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from importlib.metadata import version
from typing import Any

import structlog

from specfleet_common.telemetry.metric import process_registry
from specfleet_operator.aggregators import Aggregators
from specfleet_operator.api import Cluster
from specfleet_operator.calling import RETRY_SECONDS, Caller
from specfleet_operator.certificates import new_key
from specfleet_operator.claiming import MarkedTerritory, claim, unmarked_territory
from specfleet_operator.clocks import clock
from specfleet_operator.cluster import KubernetesCluster
from specfleet_operator.connecting import Connection, connected, found_configuration
from specfleet_operator.ending import log_end, take_signals, told_to
from specfleet_operator.events import Events
from specfleet_operator.figures import FleetFigures
from specfleet_operator.fleets import Fleets
from specfleet_operator.handlers.fleets import kopf_registry
from specfleet_operator.handlers.transport import watch_fleets
from specfleet_operator.informers import Informer
from specfleet_operator.kinds import CHILDREN, Kind
from specfleet_operator.leading import LeaseHolder, lead
from specfleet_operator.leases import REQUEST_SHARE
from specfleet_operator.naming import FIELD_MANAGER, FLEET_LABEL
from specfleet_operator.observed import Images, OperatorFacts
from specfleet_operator.optional import OptionalChildren
from specfleet_operator.pacing import Pace
from specfleet_operator.reconciling import World, reconcile, tell_failure
from specfleet_operator.settings import Settings
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.telemetry import Instruments, health_page, metrics_page, serve
from specfleet_operator.tokens import Keys, Tokens
from specfleet_operator.vitals import Vitals
from specfleet_operator.working import Work

log = structlog.get_logger()

SHUTDOWN_SECONDS = 10.0
DISCOVERY_SECONDS = 60.0
LONGEST_REQUEST_SECONDS = 10.0


async def operate(settings: Settings) -> int:
    """Run the operator until it is told to stop (0) or cannot go on (1)."""
    user_agent = f"{FIELD_MANAGER}/{version('specfleet')}"
    async with connected(await found_configuration(), user_agent) as connection:
        return await _Operator(settings, connection).run()


class _Operator:
    """All parts of one operator process."""

    def __init__(self, settings: Settings, connection: Connection) -> None:
        self._settings = settings
        self._connection = connection
        self._namespaces: tuple[str | None, ...] = settings.namespaces or (None,)
        self._registry = process_registry()
        self._instruments = Instruments(self._registry)
        self._won = asyncio.Event()
        self._session = connection.session()
        self._lease = self._new_lease()
        self._cluster = self._new_cluster(may_write=self._lease.holds)
        self._work = Work(
            self._pass, failed=self._tell_failure, instruments=self._instruments, clock=clock
        )
        self._fleets = Fleets(
            self._cluster,
            Store(),
            self._namespaces,
            changed=lambda fleet: self._work.mark([fleet]),
            gone=self._forget,
            clock=clock,
        )
        self._children = Store()
        self._informers = [one for kind in CHILDREN for one in self._informers_of(kind)]
        self._optional = OptionalChildren(
            self._cluster, self._children, self._informers_of, changed=self._mark_all
        )
        self._keys = Keys(self._cluster, self._mark_all)
        self._aggregators = self._new_aggregators()
        self._world = self._new_world()
        self._is_ours, self._keep_territory = self._new_territory()
        ends = self._world.certificate_ends
        self._registry.register(FleetFigures(self._fleets.store, self._works_in, ends))

    async def run(self) -> int:
        """Start everything and wait for the first thing to end."""
        servers = await self._serve()
        stop = asyncio.Event()
        take_signals(stop)
        tasks = {
            name: asyncio.create_task(part, name=name)
            for name, part in {
                "stop": told_to(stop),
                **{one.name: one.run() for one in self._informers},
                "fleets": self._fleets.keep(self._settings.resync_seconds),
                "keys": self._keys.keep(),
                "optional": self._optional.keep(DISCOVERY_SECONDS),
                "territory": self._keep_territory,
                "lease": lead(self._lease, self._won),
                "work": self._begin(),
                "kopf": self._watch_fleets(stop),
            }.items()
        }
        done, _ = await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        code = 0 if stop.is_set() else 1
        for task in done:
            log_end(task)
        async with asyncio.timeout(SHUTDOWN_SECONDS):
            await self._work.stop()
            await self._aggregators.stop()
            await self._lease.give_back()
            for server in servers:
                server.close()
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        return code

    async def _begin(self) -> None:
        """Work once this operator leads and knows everything; then there is nothing to do here."""
        await self._won.wait()
        for informer in self._informers:
            await informer.synced.wait()
        await self._fleets.synced.wait()
        self._work.start()
        self._mark_all()
        await asyncio.Event().wait()

    async def _watch_fleets(self, stop: asyncio.Event) -> None:
        await watch_fleets(
            self._cluster,
            kopf_registry(
                lambda item, deleted: self._fleets.told(item, deleted=deleted),
                lambda: self._connection.session(only_reads=True),
                self._connection.url,
            ),
            namespaces=self._settings.namespaces,
            identity=self._settings.pod_name,
            # kopf has taken them for itself, and would end everything else at once.
            started=lambda: take_signals(stop),
        )

    async def _pass(self, fleet: FleetKey) -> float | None:
        if not self._is_ours(fleet.namespace):
            self._aggregators.forget(fleet)
            return None
        return await reconcile(fleet, self._world)

    async def _tell_failure(self, fleet: FleetKey, error: Exception) -> None:
        await tell_failure(fleet, error, self._world)

    def _forget(self, fleet: FleetKey) -> None:
        self._work.forget(fleet)
        self._world.forget(fleet)

    def _works_in(self, namespace: str) -> bool:
        return self._lease.holds() and self._is_ours(namespace)

    def _mark_known(self, fleets: Iterable[FleetKey]) -> None:
        # What a fleet leaves behind changes too, until it is collected.
        self._work.mark(self._fleets.known(fleets))

    def _mark_all(self) -> None:
        self._work.mark(self._fleets.all())

    def _mark_namespace(self, namespace: str) -> None:
        self._work.mark(fleet for fleet in self._fleets.all() if fleet.namespace == namespace)

    def _facts(self) -> OperatorFacts:
        settings = self._settings
        return OperatorFacts(
            version=version("specfleet"),
            images=Images(
                agent=settings.agent_image,
                aggregator=settings.aggregator_image,
                default_engine=settings.default_engine_image,
            ),
            namespace=settings.own_namespace,
            service_account=settings.service_account,
            cluster_domain=settings.cluster_domain,
            optional_kinds=self._optional.names(),
            pod_monitor_labels=settings.pod_monitor_labels,
        )

    def _new_lease(self) -> LeaseHolder:
        return LeaseHolder(
            self._new_cluster(may_write=lambda: True, retry_seconds=0.0),
            namespace=self._settings.own_namespace,
            name=self._settings.lease_name,
            holder=f"{self._settings.pod_name}_{secrets.token_hex(4)}",
            lease_seconds=self._settings.lease_seconds,
            clock=clock,
            wall_clock=time.time,
        )

    def _new_cluster(
        self, *, may_write: Callable[[], bool], retry_seconds: float = RETRY_SECONDS
    ) -> Cluster:
        caller = Caller(
            self._session,
            self._connection.url,
            request_seconds=self._request_seconds,
            retry_seconds=retry_seconds,
            may_write=may_write,
            count_write=self._instruments.count_write,
        )
        return KubernetesCluster(caller)

    @property
    def _request_seconds(self) -> float:
        return min(self._settings.lease_seconds * REQUEST_SHARE, LONGEST_REQUEST_SECONDS)

    def _informers_of(self, kind: Kind) -> list[Informer]:
        return [
            Informer(
                self._cluster,
                self._children,
                kind,
                namespace,
                selector=FLEET_LABEL,
                mark=self._mark_known,
                clock=clock,
            )
            for namespace in self._namespaces
        ]

    def _new_aggregators(self) -> Aggregators:
        tokens = Tokens(
            self._cluster,
            namespace=self._settings.own_namespace,
            service_account=self._settings.service_account,
            clock=clock,
        )
        return Aggregators(tokens, mark=self._mark_known, clock=clock, wall_clock=time.time)

    def _new_world(self) -> World:
        return World(
            cluster=self._cluster,
            fleets=self._fleets.store,
            children=self._children,
            aggregators=self._aggregators,
            keys=self._keys,
            events=Events(
                self._cluster, instance=self._settings.pod_name, clock=clock, wall_clock=time.time
            ),
            facts=self._facts,
            wall_clock=time.time,
            make_key=new_key,
            pace=Pace(clock),
        )

    def _new_territory(self) -> tuple[Callable[[str], bool], Coroutine[Any, Any, None]]:
        """Return what says which namespaces are ours, and what keeps that up to date."""
        if self._settings.namespaces:
            marked = MarkedTerritory(
                {name: self._claim(name) for name in self._settings.namespaces}
            )
            return marked.has, marked.keep(self._mark_namespace, self._won)
        unmarked, informer = unmarked_territory(self._cluster, clock)
        self._informers.append(informer)
        return unmarked.has, unmarked.keep()

    def _claim(self, namespace: str) -> LeaseHolder:
        return claim(
            self._cluster,
            namespace,
            # All replicas of an installation are one holder; only the leader among them writes.
            holder=f"{self._settings.own_namespace}.{self._settings.lease_name}",
            clock=clock,
            wall_clock=time.time,
        )

    async def _serve(self) -> list[asyncio.Server]:
        host = self._settings.host
        vitals = Vitals(
            informers=self._informers,
            keys=self._keys,
            fleets=self._fleets,
            work=self._work,
            aggregators=self._aggregators,
            lease=self._lease,
            instruments=self._instruments,
        )
        health = {"/healthz": health_page(vitals.ailments), "/readyz": health_page(vitals.gaps)}
        figures = {"/metrics": metrics_page(self._registry, vitals.refresh_metrics)}
        return [
            await serve(host, self._settings.health_port, health),
            await serve(host, self._settings.metrics_port, figures),
        ]
