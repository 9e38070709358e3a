"""What `kubectl apply` would send for a manifest, so that the API server can say what comes of it.

Pure. An object that was last applied by the client carries what was applied then: what is in that
and no longer in the manifest is removed. Any other is applied by the server, which remembers it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specfleet_cli.planning.manifests import PlanError
from specfleet_common.mistakes import shown

Json = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
MANAGER = "kubectl"


@dataclass(frozen=True, slots=True)
class Patch:
    """What is sent, and as what."""

    body: Json
    content_type: str


def patch_of(live: Mapping[str, Any], manifest: Json) -> Patch:
    """Return what `kubectl apply` would send for a manifest of an object that is there.

    PlanError when the object does not say what was applied last, as kubectl writes it.
    """
    annotations = live["metadata"].get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return Patch(manifest, APPLY)
    changes = three_way(_last_applied(annotations[LAST_APPLIED]), manifest, live)
    metadata = {**changes.get("metadata", {}), "name": manifest["metadata"]["name"]}
    head = {name: manifest[name] for name in ("apiVersion", "kind")}
    return Patch({**changes, **head, "metadata": metadata}, MERGE)


def _last_applied(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(
            f"metadata.annotations.{LAST_APPLIED}: is {shown(text)}, expected the JSON of what "
            "kubectl applied last; kubectl would refuse it as well"
        ) from error


def three_way(before: Any, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> Json:
    """Return the JSON merge patch that brings about what is wanted, and takes away what was."""
    earlier = before if isinstance(before, Mapping) else {}
    patch: Json = {name: None for name in earlier if name not in wanted and name in live}
    for name, value in wanted.items():
        there = live.get(name)
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            if changes := three_way(earlier.get(name), value, there):
                patch[name] = changes
        elif name not in live or value != there:
            patch[name] = value
    return patch
