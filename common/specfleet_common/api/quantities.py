"""Quantities as Kubernetes writes them: `500m` of a CPU, `16Gi` of memory, a number of GPUs."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema

PATTERN = (
    r"^[0-9]{1,18}(\.[0-9]{1,9})?"
    r"(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?$"
)
MAX_LENGTH = 40

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def _as_text(value: object) -> object:
    if isinstance(value, float):
        raise ValueError(f'is {value:.10g}, expected a quantity in quotes, such as "{value:.10g}"')
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


Quantity = Annotated[
    str,
    BeforeValidator(_as_text),
    StringConstraints(pattern=PATTERN, max_length=MAX_LENGTH),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "minimum": 0,
            "pattern": PATTERN,
            "maxLength": MAX_LENGTH,
        }
    ),
]
"""Text or a whole number in a manifest, always text in Python; never negative."""


def amount(quantity: str) -> Decimal:
    """Return the number a quantity stands for: cores, bytes or pieces."""
    found = re.fullmatch(PATTERN, quantity)
    if found is None:
        raise ValueError(f"{quantity!r} is no quantity, expected a number such as 2, 500m or 16Gi")
    suffix = found.group(2) or ""
    number = Decimal(quantity.removesuffix(suffix))
    if suffix in _BINARY:
        return number * Decimal(2 ** _BINARY[suffix])
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    return number.scaleb(int(suffix[1:]))


def at_least(expression: str, smallest: str) -> str:
    """Return CEL that says whether a quantity is at least another."""
    return f"quantity(string({expression})).compareTo(quantity('{smallest}')) >= 0"
