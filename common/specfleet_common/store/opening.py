"""Opens the store that a location names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from specfleet_common.store.base import Store
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.location import DirectoryLocation, Location

_ACCESS_KEY = "AWS_ACCESS_KEY_ID"
_SECRET_KEY = "AWS_SECRET_ACCESS_KEY"
_SESSION_TOKEN = "AWS_SESSION_TOKEN"


class CannotOpen(ValueError):
    """What a store needs is not there; the message says what to set."""


def open_store(
    location: Location, environment: Mapping[str, str], *, spool_directory: Path | None = None
) -> Store:
    """Return the store; nothing is asked of it yet.

    S3 takes its credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, when they are
    temporary, AWS_SESSION_TOKEN. `spool_directory` is where its entries lie while they are used:
    the machine's temporary directory when absent.
    """
    if isinstance(location, DirectoryLocation):
        return DirectoryStore(location.path)

    # The client takes longer to import than all the rest.
    from specfleet_common.store.s3 import Credentials, S3Store

    missing = [name for name in (_ACCESS_KEY, _SECRET_KEY) if not environment.get(name)]
    if missing:
        raise CannotOpen(
            f"{' and '.join(missing)} not set in the environment, expected the credentials of "
            f"{location.endpoint}"
        )
    if location.ca_file is not None and not location.ca_file.is_file():
        raise CannotOpen(f"{location.ca_file} is no file, expected certificates to trust, as PEM")
    credentials = Credentials(
        access_key=environment[_ACCESS_KEY],
        secret_key=environment[_SECRET_KEY],
        session_token=environment.get(_SESSION_TOKEN) or None,
    )
    try:
        return S3Store(location, credentials, spool_directory=spool_directory)
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{location.endpoint}: {error}") from error
