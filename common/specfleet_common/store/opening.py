"""Opens the store that a location names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from specfleet_common.store.base import Store, StoreError
from specfleet_common.store.credentials import Credentials, credentials_of, mounted_credentials
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.location import DirectoryLocation, Location


class CannotOpen(ValueError):
    """What a store needs is not there; the message says what to set."""


def open_store(
    location: Location, environment: Mapping[str, str], *, spool_directory: Path | None = None
) -> Store:
    """Return the store; nothing is asked of it yet.

    S3 takes its credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, when they are
    temporary, AWS_SESSION_TOKEN: variables, or files that are read whenever they are needed, so
    that new ones need no restart. `spool_directory` is where its entries lie while they are used:
    the machine's temporary directory when absent.
    """
    if isinstance(location, DirectoryLocation):
        return DirectoryStore(location.path)

    # The client takes longer to import than all the rest.
    from specfleet_common.store.s3 import S3Store

    if location.ca_file is not None and not location.ca_file.is_file():
        raise CannotOpen(f"{location.ca_file} is no file, expected certificates to trust, as PEM")
    directory = location.credentials_directory
    credentials: Callable[[], Credentials]
    if directory is not None:
        credentials = partial(mounted_credentials, directory)
    else:
        try:
            credentials = partial(_same, credentials_of(environment, "the environment"))
        except StoreError as error:
            raise CannotOpen(f"{error}, of {location.endpoint}") from error
    try:
        return S3Store(location, credentials, spool_directory=spool_directory)
    except (OSError, ValueError) as error:
        raise CannotOpen(f"{location.endpoint}: {error}") from error


def _same(credentials: Credentials) -> Credentials:
    return credentials
