"""Whether an object has to be applied again: it was rendered differently, or someone changed it.

Two questions, because neither sees everything. What is rendered no more, such as a variable that
the user removed, shows only in the digest of the object as it was applied. What others changed
shows only in the object itself, where what the API server and others have added is not ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from specfleet_common.api.quantities import amount
from specfleet_operator.naming import APPLIED_ANNOTATION
from specfleet_operator.observed import Object

_QUANTITIES = frozenset({"limits", "requests", "sizeLimit"})
_KEYS = ("name", "uid", "mountPath", "containerPort", "port")
"""Fields that tell the items of a list apart, the first that all of them have."""
_DIGITS = 16


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits that differ whenever the JSON differs."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def stamped(item: Object) -> dict[str, Any]:
    """Return the object with its own digest in an annotation."""
    annotations = {**item["metadata"].get("annotations", {}), APPLIED_ANNOTATION: digest(item)}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


def differs(wanted: Object, found: Object | None) -> bool:
    """Say whether the stamped object has to be applied, given what is there."""
    return found is None or not _holds(wanted, found)


def _holds(wanted: Any, found: Any, *, is_quantity: bool = False) -> bool:
    """Say whether `found` says everything that `wanted` says."""
    if wanted == found:
        return True
    if found is None:
        # The API server leaves out what is empty.
        return not wanted
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(value, found.get(key), is_quantity=is_quantity or key in _QUANTITIES)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(found, list | tuple) and _has_items(wanted, found)
    return is_quantity and _is_same_amount(wanted, found)


def _has_items(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    key = _key(wanted)
    if key is None:
        # An empty item stands for everything, in rules of network policies, and not for nothing.
        return len(wanted) == len(found) and all(
            bool(one) == bool(other) and _holds(one, other)
            for one, other in zip(wanted, found, strict=True)
        )
    others = {item.get(key): item for item in found if isinstance(item, Mapping)}
    return all(_holds(item, others.get(item[key])) for item in wanted)


def _key(items: Sequence[Any]) -> str | None:
    """Return the field by which the items are merged with those of others, if there is one."""
    for key in _KEYS:
        if items and all(isinstance(item, Mapping) and key in item for item in items):
            values = [item[key] for item in items]
            return key if len(set(map(str, values))) == len(values) else None
    return None


def _is_same_amount(one: Any, other: Any) -> bool:
    try:
        return amount(str(one)) == amount(str(other))
    except ValueError:
        return bool(one == other)
