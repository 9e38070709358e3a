"""One pass over one fleet: gather what there is, ask `plan`, carry its answer out. In that order.

Carrying a plan out twice does no harm, and so does stopping in the middle: the next pass sees what
there is then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from specfleet_operator.aggregators import Address, Aggregators
from specfleet_operator.api import (
    Cluster,
    Conflict,
    Ending,
    NotFound,
    Precondition,
    Refused,
    annotations_patch,
    as_of,
)
from specfleet_operator.attempting import Attempts
from specfleet_operator.certificates import NewKey
from specfleet_operator.comparing import digest
from specfleet_operator.events import Events
from specfleet_operator.happenings import Happening
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
from specfleet_operator.owning import belonging, is_left_behind, owner_name, owner_uid
from specfleet_operator.pacing import Pace, Step, applying
from specfleet_operator.planning import Plan, plan
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.tokens import Keys
from specfleet_operator.trusting import trusting

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
    pace: Pace
    refused: dict[FleetKey, tuple[Refusal, ...]] = field(default_factory=dict)
    """What the API server refused in the last pass, or before it when it was not asked again."""
    certificate_ends: dict[FleetKey, float] = field(default_factory=dict)
    """Wall clock second when the certificate of a fleet's aggregator ends."""

    def forget(self, fleet: FleetKey) -> None:
        """Forget a fleet that is gone."""
        self.aggregators.forget(fleet)
        self.pace.forget(fleet)
        self.refused.pop(fleet, None)
        self.certificate_ends.pop(fleet, None)


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
    uid = item["metadata"]["uid"]
    found = await trusting(
        item,
        cluster=world.cluster,
        children=world.children,
        keys=world.keys,
        cluster_domain=world.facts().cluster_domain,
        now=world.wall_clock(),
        make_key=world.make_key,
    )
    known = found.trust
    if known is not None:
        world.certificate_ends[fleet] = known.not_after
        world.aggregators.follow(fleet, _address(fleet, known, world.facts()))
    return Observed(
        fleet=item,
        children=belonging(uid, world.children.of_fleet(fleet)),
        aggregator=world.aggregators.view(fleet),
        trust=known,
        trust_problem=found.problem,
        refused=world.refused.get(fleet, ()),
    )


async def carry_out(todo: Plan, observed: Observed, fleet: FleetKey, world: World) -> float | None:
    """Do what a plan says. What is refused is remembered for the next plan, not an error."""
    before = world.refused.get(fleet, ())
    attempts = Attempts(fleet, world.pace, before)
    try:
        await _apply_all(todo.apply, attempts, fleet, world)
    except Ending as error:
        # The fleet goes with its namespace, perhaps later than its children do.
        log.info("namespace_ending", fleet=str(fleet), message=error.message)
        return None
    for item in todo.statuses:
        step = Step("apply_status", key_of(item), digest(item["status"]))
        await attempts.make(step, partial(_show, item, observed.fleet, world))
    for key in todo.delete:
        await attempts.make(Step("delete", key), partial(_delete, key, fleet, world))
    for name, values in todo.annotate_pods.items():
        step = Step("annotate", _pod(name), digest(dict(values)))
        await attempts.make(step, partial(_annotate, name, values, fleet, world))
    for name in todo.delete_pods:
        key = _pod(name)
        await attempts.make(Step("delete", key), partial(_delete, key, fleet, world))
    world.refused[fleet] = refused = tuple(attempts.refused)
    if todo.status != observed.fleet.get("status"):
        await _write_status(todo.status, observed, world)
    for happening in todo.events:
        await _tell(observed.fleet, happening, world)
    if attempts.conflict is not None:
        raise attempts.conflict
    if refused != before:
        return 0.0  # The next plan says so.
    return min(
        (one for one in (todo.requeue_seconds, attempts.again_seconds) if one is not None),
        default=None,
    )


async def tell_failure(fleet: FleetKey, error: Exception, world: World) -> None:
    """Let the fleet's owner know that a pass failed in a way that nobody foresaw."""
    item = world.fleets.get(FLEET, fleet.namespace, fleet.name)
    if item is not None:
        note = f"{type(error).__name__}: {error}"
        await _tell(item, Happening("Warning", "ReconcileFailed", note), world)


async def _apply_all(
    items: Iterable[Object], attempts: Attempts, fleet: FleetKey, world: World
) -> None:
    for item in items:
        key = key_of(item)
        await attempts.make(applying(item), partial(_apply, item, fleet, world))
        if key.kind == SECRET.name and any(one.key == key for one in attempts.refused):
            # What follows trusts a key that is not kept, and the next pass would make another.
            return


async def _apply(item: Object, fleet: FleetKey, world: World) -> None:
    key = key_of(item)
    kind = kind_of(key.api_version, key.kind)
    known = world.children.get(kind, fleet.namespace, key.name)
    if known is None:
        # Without our label we would not have seen it: it may be somebody else's.
        known = await world.cluster.get(kind, fleet.namespace, key.name)
    if known is not None and is_left_behind(known, item):
        raise Conflict(f"{key}: is of an earlier fleet of this name, and will go as that went")
    if known is not None and owner_uid(known) != owner_uid(item):
        raise Refused(key, f"exists and belongs to {owner_name(known)}, expected it to be free")
    since = None if known is None else as_of(known)
    try:
        world.children.put(await world.cluster.apply(item, since=since))
    except Conflict:
        if (current := await world.cluster.get(kind, fleet.namespace, key.name)) is not None:
            world.children.put(current)
        raise


async def _show(item: Object, fleet: Object, world: World) -> None:
    """Write the status of a promotion, which nobody else writes."""
    key, uid = key_of(item), fleet["metadata"]["uid"]
    kind = kind_of(key.api_version, key.kind)
    known = world.children.get(kind, item["metadata"]["namespace"], key.name)
    if known is None or owner_uid(known) != uid:
        return  # It could not be applied, which says enough.
    since = Precondition(known["metadata"]["uid"])
    world.children.put(await world.cluster.apply_status(item, since=since))


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


def _address(fleet: FleetKey, trust: Trust, facts: OperatorFacts) -> Address:
    host = aggregator_host(
        fleet.name, namespace=fleet.namespace, cluster_domain=facts.cluster_domain
    )
    return Address(
        f"{host}:{AGGREGATOR_PORT}",
        trust.ca_pem,
        audience(fleet.name, namespace=fleet.namespace),
    )


def _pod(name: str) -> ObjectKey:
    return ObjectKey(POD.api_version, POD.name, name)
