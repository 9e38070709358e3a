"""Reads a SpeculatorFleet from an object of a cluster, and says what a cluster needs besides.

Of the metadata only name and namespace are read: the API server adds more, and checks it itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.mistakes import sentences
from specfleet_common.api.store import CA_FILE_IS_LOCAL, CREDENTIALS_NEEDED, NO_DIRECTORY
from specfleet_common.api.target import SOURCE_NEEDED


def fleet_from_object(document: Mapping[str, Any]) -> SpeculatorFleet:
    """Return the fleet; ValueError with one line per mistake when a cluster cannot run it.

    The API server refuses unknown fields, so one that is here is of a newer definition, which
    gives every fleet its default: it is passed over, or an upgrade would find all fleets invalid
    until the newer operator works.
    """
    metadata = document.get("metadata", {})
    read = {
        **{key: document[key] for key in ("apiVersion", "kind", "spec") if key in document},
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
    }
    try:
        fleet = _parsed(read)
    except ValidationError as error:
        raise ValueError("\n".join(sentences(error, SpeculatorFleet))) from error
    if refusals := cluster_refusals(fleet):
        raise ValueError("\n".join(refusals))
    return fleet


def _parsed(document: Mapping[str, Any]) -> SpeculatorFleet:
    # Through JSON, because strict pydantic takes a list for a tuple only from JSON.
    text = json.dumps(document)
    try:
        return SpeculatorFleet.model_validate_json(text)
    except ValidationError as error:
        unknown = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
        if len(unknown) < error.error_count():
            raise
    known = json.loads(text)
    for *path, name in unknown:
        holder = known
        for key in path:
            holder = holder[key]
        del holder[name]
    return SpeculatorFleet.model_validate_json(json.dumps(known))


def cluster_refusals(fleet: SpeculatorFleet) -> tuple[str, ...]:
    """Say why a fleet that could run on one machine cannot run in a cluster."""
    refusals = []
    if fleet.spec.target.source is None:
        refusals.append(f"spec.target.source: {SOURCE_NEEDED}")
    s3 = fleet.spec.store.s3
    if s3 is None:
        refusals.append(f"spec.store.directory: {NO_DIRECTORY}")
    if s3 is not None and s3.credentials_secret_ref is None:
        refusals.append(f"spec.store.s3.credentialsSecretRef: {CREDENTIALS_NEEDED}")
    if s3 is not None and s3.ca_file is not None and s3.ca_secret_ref is None:
        refusals.append(f"spec.store.s3.caFile: {CA_FILE_IS_LOCAL}")
    return tuple(refusals)
