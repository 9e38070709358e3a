"""Where a store is: what is passed between processes and written to files. Holds no secrets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

DEFAULT_REGION = "us-east-1"

Endpoint = Annotated[
    str,
    StringConstraints(
        max_length=256, pattern=r"^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$"
    ),
]
"""Scheme, host and port, without a path and without a user's name."""

Bucket = Annotated[
    str, StringConstraints(max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
]

Region = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9-]{1,64}$")]

Prefix = Annotated[
    str,
    StringConstraints(
        max_length=512, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$"
    ),
]
"""Names between single slashes; none begins with a dot."""


class Addressing(StrEnum):
    """Where requests name the bucket: in the path, or as the first part of the host."""

    PATH = "Path"
    VIRTUAL = "Virtual"


class _Location(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DirectoryLocation(_Location):
    """A directory of this machine."""

    path: Path


class S3Location(_Location):
    """A part of a bucket: all its keys begin with `prefix` and a slash."""

    endpoint: Endpoint
    bucket: Bucket
    prefix: Prefix
    region: Region = DEFAULT_REGION
    addressing: Addressing = Addressing.PATH
    ca_file: Path | None = None
    """Certificates to trust, as PEM; those of the machine when absent."""
    credentials_directory: Path | None = None
    """Has a file for each variable of the credentials, as a mounted Secret; the environment has
    them when absent."""


Location = DirectoryLocation | S3Location


def shown(location: Location) -> str:
    """Return where the store is, for messages."""
    match location:
        case DirectoryLocation():
            return str(location.path)
        case S3Location():
            return f"s3://{location.bucket}/{location.prefix} at {location.endpoint}"
