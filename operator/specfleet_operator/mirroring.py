"""Shows the fleet's promotions as DrafterPromotions: which there are, and what they say. Pure.

The fleet decides, and its store remembers; objects are made again from what the aggregator says, so
that deleting one forgets nothing but a decision that was not acted on yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from specfleet_common.api.promotion import Phase
from specfleet_operator.aggregation import Aggregation, Judged
from specfleet_operator.comparing import differs
from specfleet_operator.naming import API_VERSION, PROMOTION_KIND, promotion_name
from specfleet_operator.observed import Object, ObjectKey
from specfleet_operator.rendering.promotions import promotion_object, promotion_status
from specfleet_operator.rendering.subject import Json, Owner
from specfleet_operator.timestamps import timestamp

_FIRST_GENERATION = 1


@dataclass(frozen=True, slots=True)
class Mirror:
    """What has to be done so that the objects show what the fleet decides."""

    apply: tuple[Json, ...] = ()
    statuses: tuple[Json, ...] = ()
    """Objects with nothing but their names and their status."""
    delete: tuple[ObjectKey, ...] = ()


def promotions_of(children: Iterable[Object]) -> dict[str, Object]:
    """Return the DrafterPromotions among the fleet's objects, by name."""
    return {item["metadata"]["name"]: item for item in children if item["kind"] == PROMOTION_KIND}


def mirror(
    owner: Owner,
    aggregation: Aggregation,
    children: Iterable[Object],
    *,
    limit: int | None,
) -> Mirror:
    """Compare what the aggregator says with the objects; nothing is removed without a limit."""
    if not aggregation.is_reachable:
        return Mirror()
    found = promotions_of(children)
    judged = {promotion_name(owner.name, one.promotion.id): one for one in aggregation.promotions}
    kept = _kept(judged, found, limit=limit)
    wanted = {name: promotion_object(owner, one) for name, one in judged.items() if name in kept}
    return Mirror(
        apply=tuple(item for name, item in wanted.items() if differs(item, found.get(name))),
        statuses=tuple(
            item
            for name in wanted
            if (item := _status(owner, name, judged[name], found.get(name))) is not None
        ),
        delete=tuple(
            ObjectKey(API_VERSION, PROMOTION_KIND, name) for name in found if name not in kept
        ),
    )


def _kept(
    judged: Mapping[str, Judged], found: Mapping[str, Object], *, limit: int | None
) -> Collection[str]:
    """Return the names of those that are open, and of the last that have ended."""
    names = judged.keys() | found.keys()
    if limit is None:
        return names
    is_open = {name for name, one in judged.items() if one.promotion.phase != Phase.DONE}
    ended = sorted(
        names - is_open,
        key=lambda name: (_ended_at(judged.get(name), found.get(name)), name),
        reverse=True,
    )
    return is_open | set(ended[: max(0, limit - len(is_open))])


def _ended_at(judged: Judged | None, found: Object | None) -> str:
    """Return when it ended; of what the aggregator shows no more, what its object says of it."""
    if judged is not None:
        return timestamp(judged.promotion.finished_at)
    assert found is not None
    status = found.get("status") or {}
    created = found["metadata"].get("creationTimestamp", "")
    return str(status.get("finishedAt") or status.get("startedAt") or created)


def _status(owner: Owner, name: str, judged: Judged, found: Object | None) -> Json | None:
    """Return the object with the status that has to be written, None when there it is."""
    old = {} if found is None else found.get("status") or {}
    generation = (
        _FIRST_GENERATION
        if found is None
        else found["metadata"].get("generation", _FIRST_GENERATION)
    )
    status = promotion_status(judged.promotion, generation=generation)
    if status == old:
        return None
    return {
        "apiVersion": API_VERSION,
        "kind": PROMOTION_KIND,
        "metadata": {"name": name, "namespace": owner.namespace},
        "status": status,
    }
