"""Who asks an S3 server: from variables, or from files that may change at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specfleet_common.store.base import StoreError

ACCESS_KEY = "AWS_ACCESS_KEY_ID"
SECRET_KEY = "AWS_SECRET_ACCESS_KEY"
SESSION_TOKEN = "AWS_SESSION_TOKEN"

# A key is some hundred characters; whatever is larger is none.
_MAX_CHARACTERS = 16_384


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who the requests come from; nothing of it shows in a repr."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(repr=False, default=None)


def credentials_of(values: Mapping[str, str], place: str) -> Credentials:
    """Return what the values say; StoreError names what is missing from the place."""
    missing = [name for name in (ACCESS_KEY, SECRET_KEY) if not values.get(name)]
    if missing:
        raise StoreError(
            f"{' and '.join(missing)} not set in {place}, expected the credentials of the store"
        )
    return Credentials(
        access_key=values[ACCESS_KEY],
        secret_key=values[SECRET_KEY],
        session_token=values.get(SESSION_TOKEN) or None,
    )


def mounted_credentials(directory: Path) -> Credentials:
    """Return what the files say now; StoreError names what is missing."""
    values = {}
    for name in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN):
        try:
            with (directory / name).open() as file:
                values[name] = file.read(_MAX_CHARACTERS).strip()
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise StoreError(f"{directory / name} cannot be read: {error}") from error
    return credentials_of(values, str(directory))
