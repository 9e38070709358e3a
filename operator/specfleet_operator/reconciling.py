"""One pass over one fleet: gather what there is, ask `plan`, carry its answer out. In that order.

Carrying a plan out twice does no harm, and so does stopping in the middle: the next pass sees what
there is then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from specfleet_operator.aggregators import Address, Aggregators
from specfleet_operator.api import (
    Cluster,
    Conflict,
    Ending,
    NotFound,
    Refused,
    annotations_patch,
    as_of,
)
from specfleet_operator.certificates import Material, NewKey, material, server_names
from specfleet_operator.events import Events
from specfleet_operator.kinds import FLEET, POD, SECRET, kind_of
from specfleet_operator.naming import AGGREGATOR_PORT, aggregator_host, audience
from specfleet_operator.observed import (
    Object,
    ObjectKey,
    Observed,
    OperatorFacts,
    Refusal,
    Trust,
    key_of,
)
from specfleet_operator.planning import Happening, Plan, plan
from specfleet_operator.rendering.config import authority_name, certificate_name
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.tokens import Keys

log = structlog.get_logger()


@dataclass(slots=True)
class World:
    """What a pass reads and changes."""

    cluster: Cluster
    fleets: Store
    children: Store
    aggregators: Aggregators
    keys: Keys
    events: Events
    facts: Callable[[], OperatorFacts]
    wall_clock: Callable[[], float]
    make_key: NewKey
    refused: dict[FleetKey, tuple[Refusal, ...]] = field(default_factory=dict)
    """What the API server refused in the last pass."""


async def reconcile(fleet: FleetKey, world: World) -> float | None:
    """Bring a fleet one step closer to its spec; return when to do so again, if known."""
    observed = await gather(fleet, world)
    if observed is None:
        return None

    todo = plan(observed, world.facts(), world.wall_clock())

    return await carry_out(todo, observed, fleet, world)


async def gather(fleet: FleetKey, world: World) -> Observed | None:
    """Return what is known about a fleet now; None when it is gone or going."""
    item = world.fleets.get(FLEET, fleet.namespace, fleet.name)
    if item is None or "deletionTimestamp" in item["metadata"]:
        world.aggregators.forget(fleet)
        return None
    trust = await _trust(fleet, world)
    if trust is not None:
        world.aggregators.follow(fleet, _address(fleet, trust, world.facts()))
    return Observed(
        fleet=item,
        children=world.children.of_fleet(fleet),
        aggregator=world.aggregators.view(fleet),
        trust=trust,
        refused=world.refused.get(fleet, ()),
    )


async def carry_out(todo: Plan, observed: Observed, fleet: FleetKey, world: World) -> float | None:
    """Do what a plan says. What is refused is remembered for the next plan, not an error."""
    attempts = _Attempts()
    try:
        for item in todo.apply:
            await attempts.make(key_of(item), _apply(item, fleet, world))
    except Ending as error:
        # The fleet goes with its namespace, perhaps later than its children do.
        log.info("namespace_ending", fleet=str(fleet), message=error.message)
        return None
    for key in todo.delete:
        await attempts.make(key, _delete(key, fleet, world))
    for name, values in todo.annotate_pods.items():
        await attempts.make(_pod(name), _annotate(name, values, fleet, world))
    for name in todo.delete_pods:
        await attempts.make(_pod(name), _delete(_pod(name), fleet, world))
    refused = tuple(attempts.refused)
    is_news = refused != world.refused.get(fleet, ())
    world.refused[fleet] = refused
    if todo.status != observed.fleet.get("status"):
        await _write_status(todo.status, observed, world)
    for happening in todo.events:
        await _tell(observed.fleet, happening, world)
    if attempts.conflict is not None:
        raise attempts.conflict
    return 0.0 if is_news else todo.requeue_seconds


async def tell_failure(fleet: FleetKey, error: Exception, world: World) -> None:
    """Let the fleet's owner know that a pass failed in a way that nobody foresaw."""
    item = world.fleets.get(FLEET, fleet.namespace, fleet.name)
    if item is not None:
        note = f"{type(error).__name__}: {error}"
        await _tell(item, Happening("Warning", "ReconcileFailed", note), world)


@dataclass(slots=True)
class _Attempts:
    """What came of the steps of a plan: one that is refused does not stop the others."""

    refused: list[Refusal] = field(default_factory=list)
    conflict: Conflict | None = None

    async def make(self, key: ObjectKey, step: Awaitable[None]) -> None:
        try:
            await step
        except Ending:
            raise
        except Refused as error:
            log.warning("refused", key=str(key), message=error.message)
            self.refused.append(Refusal(key, error.message))
        except Conflict as error:
            self.conflict = error


async def _apply(item: Object, fleet: FleetKey, world: World) -> None:
    key = key_of(item)
    kind = kind_of(key.api_version, key.kind)
    known = world.children.get(kind, fleet.namespace, key.name)
    if known is None:
        # Without our label we would not have seen it: it may be somebody else's.
        known = await world.cluster.get(kind, fleet.namespace, key.name)
    if known is not None and _owner(known) != _owner(item):
        raise Refused(key, f"exists and belongs to {_owner_name(known)}, expected it to be free")
    since = None if known is None else as_of(known)
    try:
        world.children.put(await world.cluster.apply(item, since=since))
    except Conflict:
        if (current := await world.cluster.get(kind, fleet.namespace, key.name)) is not None:
            world.children.put(current)
        raise


async def _delete(key: ObjectKey, fleet: FleetKey, world: World) -> None:
    kind = kind_of(key.api_version, key.kind)
    known = world.children.get(kind, fleet.namespace, key.name)
    if known is None or "deletionTimestamp" in known["metadata"]:
        return
    await world.cluster.delete(kind, fleet.namespace, key.name, as_of(known))


async def _annotate(
    name: str, annotations: Mapping[str, str], fleet: FleetKey, world: World
) -> None:
    known = world.children.get(POD, fleet.namespace, name)
    if known is None:
        return
    changes = annotations_patch(known, annotations)
    world.children.put(await world.cluster.merge(POD, fleet.namespace, name, changes))


async def _tell(fleet: Object, happening: Happening, world: World) -> None:
    try:
        await world.events.tell(fleet, happening)
    except (Refused, Conflict) as error:
        # An Event is a courtesy; nothing depends on it.
        log.warning("event_refused", reason=happening.reason, error=str(error))


async def _write_status(status: dict[str, Any], observed: Observed, world: World) -> None:
    item = {
        "apiVersion": observed.fleet["apiVersion"],
        "kind": observed.fleet["kind"],
        "metadata": {
            "name": observed.fleet["metadata"]["name"],
            "namespace": observed.fleet["metadata"]["namespace"],
        },
        "status": status,
    }
    try:
        world.fleets.put(await world.cluster.apply_status(item, since=as_of(observed.fleet)))
    except NotFound:
        return  # The fleet is gone, and its children go with it.
    except Conflict:
        metadata = item["metadata"]
        current = await world.cluster.get(FLEET, metadata["namespace"], metadata["name"])
        if current is not None:
            world.fleets.put(current)
        raise


async def _trust(fleet: FleetKey, world: World) -> Trust | None:
    keys = world.keys.current
    if keys is None:
        return None
    names = authority_name(fleet.name), certificate_name(fleet.name)
    held = [world.children.get(SECRET, fleet.namespace, name) for name in names]
    found = _material(held, fleet, world)
    if not _is_stored(found, held):
        # Never replace keys on the word of a cache.
        held = [await world.cluster.get(SECRET, fleet.namespace, name) for name in names]
        found = _material(held, fleet, world)
    return Trust(
        ca_pem=found.ca_pem,
        ca_key_pem=found.ca_key_pem,
        certificate_pem=found.certificate_pem,
        key_pem=found.key_pem,
        not_after=found.not_after,
        issuer=keys.issuer,
        jwks=keys.jwks,
    )


def _material(held: list[Object | None], fleet: FleetKey, world: World) -> Material:
    authority, certificate = (None if one is None else one.get("data") or {} for one in held)
    return material(
        authority,
        certificate,
        fleet=fleet.name,
        names=server_names(
            fleet.name, namespace=fleet.namespace, cluster_domain=world.facts().cluster_domain
        ),
        now=world.wall_clock(),
        make_key=world.make_key,
    )


def _is_stored(found: Material, held: list[Object | None]) -> bool:
    return all(one is not None for one in held) and not found.is_new


def _address(fleet: FleetKey, trust: Trust, facts: OperatorFacts) -> Address:
    host = aggregator_host(
        fleet.name, namespace=fleet.namespace, cluster_domain=facts.cluster_domain
    )
    return Address(
        f"{host}:{AGGREGATOR_PORT}",
        trust.ca_pem,
        audience(fleet.name, namespace=fleet.namespace),
    )


def _owner(item: Object) -> str | None:
    owner = _controller(item)
    return None if owner is None else owner["uid"]


def _owner_name(item: Object) -> str:
    owner = _controller(item)
    if owner is None:
        return "somebody else"
    return f"{owner['kind']} {owner['name']} (uid {owner['uid']})"


def _controller(item: Object) -> dict[str, Any] | None:
    for owner in item["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def _pod(name: str) -> ObjectKey:
    return ObjectKey(POD.api_version, POD.name, name)
