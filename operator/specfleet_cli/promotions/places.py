"""Where the promotions of a local run, or of a store alone, are to be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specfleet_cli.endpoints import FILE_NAME, EndpointsError, Fleet, read_fleet
from specfleet_cli.plan import SETTINGS_FILE_NAME
from specfleet_common.api.loading import ManifestError, load_fleet
from specfleet_common.commands.aggregator import store_location
from specfleet_common.store.base import Store
from specfleet_common.store.location import DirectoryLocation, Endpoint, Location, shown
from specfleet_common.store.opening import CannotOpen, open_store
from specfleet_common.store.owner import owner_of

OUT = Path("out")
"""Below which `specfleet run` puts its directories."""


class SourceError(ValueError):
    """There are no promotions to be found where they were looked for."""


@dataclass(frozen=True, slots=True)
class Run:
    """A fleet that runs on this machine, in its directory."""

    directory: Path
    fleet: Fleet

    @property
    def settings_file(self) -> Path:
        """Return where the aggregator finds the decisions of users."""
        return self.directory / SETTINGS_FILE_NAME


def running(directory: Path | None, *, out: Path = OUT) -> Run:
    """Return the run of a directory, the only one below `out` when none is named."""
    place = directory or _only_run(out)
    try:
        fleet = read_fleet(place / FILE_NAME)
    except EndpointsError as error:
        raise SourceError(
            f"{place}: no fleet runs there ({error}); for one that has ended, give its manifest or "
            "its directory with --store"
        ) from error
    if not Path(f"/proc/{fleet.pid}").exists():
        raise SourceError(
            f"{place}: the fleet that ran there was killed (process {fleet.pid}); start it again"
        )
    return Run(place, fleet)


def location_of(source: Path) -> Location:
    """Return the store in a directory, or the one that a fleet's manifest names."""
    if source.is_dir():
        return DirectoryLocation(path=source.absolute())
    if not source.exists():
        raise SourceError(
            f"--store: {source} does not exist, expected a directory with a store, or the manifest "
            "of a fleet"
        )
    try:
        return store_location(load_fleet(source))
    except ManifestError as error:
        raise SourceError(f"--store: {error}") from error


@dataclass(frozen=True, slots=True)
class OwnedStore:
    """A store, and the fleet that writes it."""

    store: Store
    fleet: str


def check_endpoint(text: str) -> None:
    """Raise SourceError for what is no endpoint of an S3 server."""
    try:
        TypeAdapter(Endpoint).validate_python(text)
    except ValidationError as error:
        raise SourceError(
            f"--s3-endpoint: is {text!r}, expected scheme, host and port such as "
            "http://127.0.0.1:9000"
        ) from error


def opened(location: Location, environment: Mapping[str, str]) -> OwnedStore:
    """Return the store of a fleet; SourceError when it cannot be opened, or is none."""
    try:
        store = open_store(location, environment)
    except CannotOpen as error:
        raise SourceError(str(error)) from error
    owner = owner_of(store)
    if owner is None:
        raise SourceError(f"{shown(location)}: belongs to no fleet, expected the store of one")
    return OwnedStore(store, owner.fleet)


def _only_run(out: Path) -> Path:
    found = sorted(file.parent for file in out.glob(f"*/{FILE_NAME}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError(
            f"no fleet runs below {out}/: name the directory of a run with --directory, or the "
            "manifest of a fleet or its store's directory with --store"
        )
    names = ", ".join(map(str, found))
    raise SourceError(f"several fleets run: name one of {names} with --directory")
