"""A JSON object that tells when a bit of it has changed: its last field is the digest of the rest.

A damaged digit is as good JSON as the right one, and a wrong number in a decision would be
believed.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

_DIGITS: Final = 16
_SEAL: Final = re.compile(rb',\s*"seal":\s*"([^"]*)"\s*\}\s*\Z')


class SealError(ValueError):
    """The object is not what was written."""


def sealed(data: bytes) -> bytes:
    """Return the bytes of a JSON object with fields, and its seal."""
    body = data.rstrip().removesuffix(b"}").rstrip()
    return body + f',\n"seal": "{_digest(body)}"}}'.encode()


def check_seal(data: bytes) -> None:
    """Raise SealError unless the object is as it was sealed."""
    found = _SEAL.search(data)
    if found is None:
        raise SealError("has no seal at its end, expected one")
    expected = _digest(data[: found.start()])
    if found[1] != expected.encode():
        seal = ascii(found[1].decode(errors="replace"))[:40]
        raise SealError(f"its seal is {seal}, expected {expected}: something in it has changed")


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:_DIGITS]
