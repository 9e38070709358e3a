"""The smallest right manifest, for the tests of every package to change at one place."""

from __future__ import annotations

import copy
from typing import Any

import yaml

_SMALLEST: dict[str, Any] = {
    "apiVersion": "specfleet.dev/v1alpha1",
    "kind": "SpeculatorFleet",
    "metadata": {"name": "tiny"},
    "spec": {
        "target": {"model": "./model"},
        "drafter": {"family": "mtp"},
        "store": {"directory": {"path": "./store"}},
    },
}


def manifest(**changes: Any) -> str:
    """Return YAML; `spec__trainer__threads=2` sets that field, None removes it."""
    document = copy.deepcopy(_SMALLEST)
    for path, value in changes.items():
        *folders, field = path.split("__")
        place = document
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is None:
            place.pop(field, None)
        else:
            place[field] = value
    return yaml.safe_dump(document)
