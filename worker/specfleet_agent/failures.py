"""The word by which a failed call to the aggregator is counted."""

from __future__ import annotations

from specfleet_common.wire.client import Refused, Unauthorized, Unreachable


def result_of(error: Unreachable | Refused) -> str:
    """Return refused, unauthorized or unreachable."""
    if isinstance(error, Refused):
        return "refused"
    return "unauthorized" if isinstance(error, Unauthorized) else "unreachable"
