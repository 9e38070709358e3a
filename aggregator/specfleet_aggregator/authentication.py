"""How callers prove who they are: not at all, by a shared secret, or by a service account token.

Files with secrets and keys are read again when they change.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from specfleet_aggregator.callers import ANYONE, Caller, CallRefused, Reason
from specfleet_aggregator.settings import Settings
from specfleet_aggregator.tokens import Expected, parse_keys, verify
from specfleet_common.files import read_small
from specfleet_common.following import Followed
from specfleet_common.wire.access import AUTHORIZATION, SCHEME

MAX_TOKEN_BYTES = 4096
"""A service account token has about 1 KiB; above 8 KiB of metadata, gRPC itself refuses calls."""

Value = TypeVar("Value")
Metadata = Sequence[tuple[str, str | bytes]]
Authenticate = Callable[[Metadata], Caller]
"""Returns who calls; CallRefused when that is not proved."""


class AuthenticationError(ValueError):
    """A file that callers are known by cannot be used; the message names it."""


def authenticator(settings: Settings, *, wall: Callable[[], float]) -> Authenticate:
    """Return how callers are known; AuthenticationError when a file for it cannot be used."""
    if settings.token_file is not None:
        return _by_secret(_followed(settings.token_file, _secret))
    if settings.jwks_file is None:
        return lambda metadata: ANYONE
    keys = _followed(settings.jwks_file, parse_keys)
    expected = Expected(
        issuer=settings.token_issuer,
        audience=settings.token_audience,
        worker_subject=settings.worker_subject,
        watcher_subjects=frozenset(settings.watcher_subjects),
    )
    return lambda metadata: verify(token_in(metadata), keys.value, expected, now=wall())


def token_in(metadata: Metadata) -> str:
    """Return the token that comes with a call; CallRefused when there is not exactly one."""
    values = [value for name, value in metadata if name == AUTHORIZATION]
    if not values:
        raise CallRefused(
            Reason.MISSING, f"the call has no token, expected '{AUTHORIZATION}: {SCHEME}<token>'"
        )
    if len(values) > 1:
        raise CallRefused(Reason.MALFORMED, f"the call has {len(values)} tokens, expected one")
    if len(values[0]) > MAX_TOKEN_BYTES:
        raise CallRefused(
            Reason.TOO_LARGE,
            f"the token has {len(values[0])} bytes, expected at most {MAX_TOKEN_BYTES}",
        )
    text = values[0].decode("ascii", "replace") if isinstance(values[0], bytes) else values[0]
    if not text.startswith(SCHEME):
        raise CallRefused(
            Reason.MALFORMED, f"{AUTHORIZATION}: has another scheme, expected '{SCHEME}<token>'"
        )
    return text.removeprefix(SCHEME)


def _by_secret(secret: Followed[bytes]) -> Authenticate:
    def authenticate(metadata: Metadata) -> Caller:
        if not hmac.compare_digest(token_in(metadata).encode(), secret.value):
            raise CallRefused(Reason.SECRET, "the token is not the one that this fleet shares")
        return ANYONE

    return authenticate


def _secret(data: bytes) -> bytes:
    secret = data.strip()
    if not secret:
        raise ValueError("is empty, expected a token")
    return secret


def _followed(path: Path, parse: Callable[[bytes], Value]) -> Followed[Value]:
    try:
        return Followed(lambda: parse(read_small(path)), path)
    except OSError as error:
        raise AuthenticationError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise AuthenticationError(f"{path}: {error}") from error
