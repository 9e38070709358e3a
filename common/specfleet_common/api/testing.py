"""The smallest right documents, for the tests of every package to change at one place."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml
from pydantic.alias_generators import to_camel

from specfleet_common.api.learning import LearningSettings, parse_settings

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

_BUCKET = {"endpoint": "http://s3:9000", "bucket": "fleets"}

_LEARNING: dict[str, Any] = {
    "schema_version": 1,
    "fleet_uid": "uid-1",
    "generation": 1,
    "local_steps": 100,
    "quorum_minimum": 1,
    "quorum_percent": 60,
    "max_round_seconds": 900.0,
    "lease_seconds": 120.0,
    "heartbeat_seconds": 5.0,
    "combine": "Mean",
    "outer_learning_rate": 0.7,
    "outer_momentum": 0.9,
    "codec": "Float32",
    "learning_rate": 1e-4,
    "depth_weights": [1.0, 0.8, 0.64],
    "dpace": False,
    "rows_per_step": 1024,
    "publish_every_steps": 10,
}

LEARNING_FIELDS = frozenset(LearningSettings.model_fields)


def learning(**changes: Any) -> LearningSettings:
    """Return settings with some fields changed."""
    fields = {**_LEARNING, **changes}
    return parse_settings(json.dumps({to_camel(n): v for n, v in fields.items()}).encode())


def manifest(**changes: Any) -> str:
    """Return YAML; `spec__trainer__threads=2` sets that field, None removes it."""
    return yaml.safe_dump(_changed(_SMALLEST, changes))


def fleet_object(**changes: Any) -> dict[str, Any]:
    """Return the smallest fleet that a cluster takes, with some fields changed as in `manifest`."""
    cluster = {
        "spec__target__source": {"hostPath": {"path": "/models"}},
        "spec__store": {"s3": {**_BUCKET, "credentialsSecretRef": {"name": "s3"}}},
    }
    return _changed(_SMALLEST, {**cluster, **changes})


def _changed(original: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(original)
    for path, value in changes.items():
        *folders, field = path.split("__")
        place = document
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is None:
            place.pop(field, None)
        else:
            place[field] = value
    return document
