"""How a caller reaches the aggregator: which certificates it trusts, and the token it shows.

Both are asked for again at every call, because both are replaced while a process runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio

from specfleet_common.files import read_small

AUTHORIZATION = "authorization"
SCHEME = "Bearer "

# gRPC would wait up to two minutes before it tries again to connect, and 30 s to resolve the name.
OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 4000),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # A proxy that the machine has for the world outside does not know the aggregator.
    ("grpc.enable_http_proxy", 0),
)

_TOKEN = re.compile(r"[\x21-\x7e]+")


class AccessError(ValueError):
    """What a caller needs is not there, or not usable."""


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Access:
    """Without certificates the connection is not encrypted; without a token nothing is shown."""

    certificates: Callable[[], bytes | None] = _nothing
    """Return the certificates to trust, as PEM."""
    token: Callable[[], str | None] = _nothing


def access_by_files(*, ca_file: Path | None = None, token_file: Path | None = None) -> Access:
    """Return the access that two files give; None for what is not needed."""

    def certificates() -> bytes | None:
        return None if ca_file is None else _read(ca_file)

    def token() -> str | None:
        if token_file is None:
            return None
        text = _read(token_file).decode("ascii", "replace").strip()
        if not _TOKEN.fullmatch(text):
            raise AccessError(f"{token_file}: is no token, expected printable ASCII on one line")
        return text

    return Access(certificates, token)


def open_channel(address: str, certificates: bytes | None) -> grpc.aio.Channel:
    """Return a connection to host:port; the server's certificate has to name the host."""
    if certificates is None:
        return grpc.aio.insecure_channel(address, options=OPTIONS)
    credentials = grpc.ssl_channel_credentials(root_certificates=certificates)
    return grpc.aio.secure_channel(address, credentials, options=OPTIONS)


def stays_here(address: str) -> bool:
    """Say whether what is sent to host:port, or comes in there, never leaves this machine."""
    host = address.rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """Return what shows the token with a call."""
    return () if token is None else ((AUTHORIZATION, SCHEME + token),)


def _read(path: Path) -> bytes:
    try:
        data = read_small(path)
    except OSError as error:
        raise AccessError(f"{path}: cannot be read: {error.strerror}") from error
    if not data.strip():
        raise AccessError(f"{path}: is empty")
    return data
