"""What an aggregator is told: where it listens, and where its store is."""

from __future__ import annotations

from pathlib import Path

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.store.location import DirectoryLocation, Location, S3Location

MODULE = "specfleet_aggregator"
PREFIX = "SPECFLEET_AGGREGATOR_"


def store_location(fleet: SpeculatorFleet) -> Location:
    """Return where the fleet's entries are; in a bucket, below its namespace and its name."""
    store, metadata = fleet.spec.store, fleet.metadata
    if store.directory is not None:
        return DirectoryLocation(path=Path(store.directory.path))
    assert store.s3 is not None
    names = (store.s3.prefix, metadata.namespace, metadata.name)
    return S3Location(
        endpoint=store.s3.endpoint,
        bucket=store.s3.bucket,
        prefix="/".join(name for name in names if name is not None),
        region=store.s3.region,
        addressing=store.s3.addressing,
        ca_file=None if store.s3.ca_file is None else Path(store.s3.ca_file),
    )


def store_settings(location: Location) -> dict[str, str]:
    """Return the settings, without their prefix, that name the store."""
    if isinstance(location, DirectoryLocation):
        return {"STORE_DIRECTORY": str(location.path)}
    return {"STORE_S3": location.model_dump_json(exclude_none=True)}
