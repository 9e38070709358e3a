"""Reads the fleets of a file as they are written; the API server says what is wrong with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from specfleet_cli.api_server import VERSION
from specfleet_common.api.yaml_text import YamlError, read_documents

KIND = "SpeculatorFleet"
STANDARD_INPUT = "-"

Json = dict[str, Any]


class PlanError(ValueError):
    """Nothing can be foreseen; the message says why."""


def fleets_of(source: str, namespace: str, *, is_chosen: bool) -> list[Json]:
    """Return the fleets of a file, or of the standard input for a dash, with their namespaces.

    Other objects are passed over. `is_chosen` says that the namespace is none of a kubeconfig.
    """
    try:
        text = sys.stdin.read() if source == STANDARD_INPUT else Path(source).read_text("utf-8")
        documents = [one for one in read_documents(text) if isinstance(one, dict)]
    except (OSError, UnicodeDecodeError, YamlError) as error:
        raise PlanError(f"{source}: cannot be read: {error}") from error
    found = [one for one in documents if one.get("kind") == KIND]
    if not found:
        kinds = ", ".join(str(one.get("kind")) for one in documents) or "nothing"
        raise PlanError(f"{source}: has {kinds}, expected a {KIND}")
    return [_placed(source, one, namespace, is_chosen=is_chosen) for one in found]


def _placed(source: str, fleet: Json, namespace: str, *, is_chosen: bool) -> Json:
    if fleet.get("apiVersion") != VERSION:
        raise PlanError(
            f"{source}: apiVersion is {fleet.get('apiVersion')!r}, expected {VERSION!r}"
        )
    metadata = fleet.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise PlanError(f"{source}: metadata.name: is missing, expected a name")
    named = metadata.get("namespace", namespace)
    if is_chosen and named != namespace:
        raise PlanError(
            f"{source}: metadata.namespace is {named!r}, but --namespace is {namespace!r}: expected"
            " the same"
        )
    return {**fleet, "metadata": {**metadata, "namespace": named}}
