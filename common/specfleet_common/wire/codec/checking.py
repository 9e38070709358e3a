"""What every message is held to: the checks that refuse what the contract does not allow."""

from __future__ import annotations

import math
import re

from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import LOCAL, MISMATCH, STOCK
from specfleet_common.tensors import quoted

PROTOCOL = 1
ACCEPTED_PROTOCOLS = frozenset({PROTOCOL, PROTOCOL - 1} - {0})
MAX_PROBLEM_LETTERS = 1000

_SERVES = ("", "Stock", "Stable", "Local")
_WORDS = frozenset({STOCK, LOCAL, MISMATCH})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{64}")


class WireError(ValueError):
    """A message is not what the contract allows."""


def check_protocol(protocol: int) -> None:
    """Refuse a protocol that is not spoken here."""
    if protocol not in ACCEPTED_PROTOCOLS:
        raise WireError(f"protocol: is {protocol}, expected one of {sorted(ACCEPTED_PROTOCOLS)}")


def checked_name(value: str, field: str) -> str:
    """Return a name that may become part of a path."""
    if not _NAME.fullmatch(value):
        raise WireError(
            f"{field}: is {quoted(value)}, expected 1 to 128 letters, digits, '.', '_', '-'"
        )
    return value


def checked_digest(value: str, field: str, *, may_be_empty: bool = False) -> str:
    """Return a SHA-256."""
    if may_be_empty and not value:
        return value
    if not _HEXADECIMAL.fullmatch(value):
        raise WireError(f"{field}: is {quoted(value)}, expected 64 hexadecimal digits")
    return value


def checked_codec(value: str, field: str) -> Codec:
    """Return a codec; who does not name one knows only the first."""
    if not value:
        return Codec.FLOAT32
    try:
        return Codec(value)
    except ValueError as error:
        known = [codec.value for codec in Codec]
        raise WireError(f"{field}: is {quoted(value)}, expected one of {known}") from error


def checked_observed(value: str, field: str) -> str:
    """Return what an engine may say that it runs; empty for nothing."""
    if value in _WORDS:
        return value
    return checked_digest(value, field, may_be_empty=True)


def checked_serve(value: str, field: str) -> str:
    """Return what a worker serves; empty from older ones."""
    if value not in _SERVES:
        raise WireError(f"{field}: is {quoted(value)}, expected one of {_SERVES}")
    return value


def checked_problem(value: str, field: str) -> str:
    """Return a sentence for a person, which is shown wherever the fleet is; empty for none."""
    if len(value) > MAX_PROBLEM_LETTERS:
        raise WireError(f"{field}: has {len(value)} letters, expected <= {MAX_PROBLEM_LETTERS}")
    return value


def positive(value: float, field: str) -> float:
    """Return a number above zero."""
    if not 0 < value < math.inf:
        raise WireError(f"{field}: is {value}, expected a positive number")
    return value


def not_negative(value: float, field: str) -> float:
    """Return a number that is zero or more."""
    if not 0 <= value < math.inf:
        raise WireError(f"{field}: is {value}, expected zero or more")
    return value
