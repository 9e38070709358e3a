"""Whose an object is. Pure.

What a name or a label says is not enough: a fleet that is created again has the name of the one
before it, whose objects may still be on their way out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfleet_operator.naming import KIND
from specfleet_operator.observed import Object


def belonging(uid: str, items: Iterable[Object]) -> tuple[Object, ...]:
    """Return the objects that are the fleet's of this UID, and those that are these objects'."""
    items = tuple(items)
    owners = {uid} | {item["metadata"]["uid"] for item in items if owner_uid(item) == uid}
    return tuple(item for item in items if owner_uid(item) in owners)


def owner_uid(item: Object) -> str | None:
    """Return the UID of the object's controller, None when it has none."""
    owner = _controller(item)
    return None if owner is None else str(owner["uid"])


def owner_name(item: Object) -> str:
    """Return the object's controller, for people."""
    owner = _controller(item)
    if owner is None:
        return "somebody else"
    return f"{owner['kind']} {owner['name']} (uid {owner['uid']})"


def is_left_behind(found: Object, wanted: Object) -> bool:
    """Say whether `found` is of an earlier fleet of the same name: it will be collected."""
    theirs, ours = _controller(found), _controller(wanted)
    return (
        theirs is not None
        and ours is not None
        and theirs["kind"] == ours["kind"] == KIND
        and theirs["name"] == ours["name"]
        and theirs["uid"] != ours["uid"]
    )


def _controller(item: Object) -> dict[str, Any] | None:
    for owner in item["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None
