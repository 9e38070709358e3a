"""What went wrong with a request to the API server, as one of the few failures that `api` names."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from specfleet_operator.api import Conflict, Ending, Expired, NotFound, Refused, Unreachable
from specfleet_operator.observed import ObjectKey

_AGAINST_THE_SCHEMA = "failed to create typed patch object"
"""How the answer to an apply with a field of the wrong name or type begins; its status is 500."""
_KIND_ENDING = "while custom resource definition is terminating"
"""How the answer to an apply ends whose kind is being deleted; nothing else in it says so."""
_WEBHOOK_AWAY = "failed calling webhook"


@contextmanager
def network_failures() -> Iterator[None]:
    """Turn what goes wrong before there is a whole answer into Unreachable."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, ssl.SSLError, ValueError) as error:
        # A ValueError is an answer that is no JSON, or a line without an end: of no API server.
        raise Unreachable(f"{type(error).__name__}: {error}") from error


def failure(status: int, text: str, key: ObjectKey) -> Exception:
    """Return the failure that an answer stands for."""
    message = _message(text) or f"HTTP {status}"
    if status == 404 or (status == 403 and message.endswith(_KIND_ENDING)):
        return NotFound(key, message)
    if status == 409:
        return Conflict(f"{key}: {message}")
    if status == 410:
        return Expired(f"{key}: {message}")
    if status == 500 and message.startswith(_AGAINST_THE_SCHEMA):
        return Refused(key, message)
    if status in (401, 429) or status >= 500:
        return Unreachable(f"HTTP {status}: {message}")
    if status == 403 and "NamespaceTerminating" in _causes(text):
        return Ending(key, message)
    return Refused(key, message)


def is_of_a_webhook(error: Unreachable) -> bool:
    """Say whether it is an admission webhook that does not answer, and not the API server."""
    return _WEBHOOK_AWAY in str(error)


def _message(text: str) -> str:
    """Return what a Status object says, or the beginning of what is none."""
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text[:200].strip()


def _causes(text: str) -> list[str]:
    """Return the machine-readable reasons of a Status object, if there are any."""
    try:
        return [str(cause["reason"]) for cause in json.loads(text)["details"]["causes"]]
    except (ValueError, KeyError, TypeError):
        return []
