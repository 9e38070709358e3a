"""Types of single values in a resource: names, decimals without floats, bounded counts.

Decimals stay text, so that a manifest reads back exactly as it was written.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema


def _in_quotes(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f'expected a decimal in quotes, such as "{value:.10g}"')
    return value


Name = Annotated[
    str, StringConstraints(max_length=40, pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")
]
"""Names become parts of file names, labels and worker identities."""

Namespace = Annotated[
    str, StringConstraints(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
]
"""A namespace of Kubernetes."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]

SmallFraction = Annotated[
    str,
    StringConstraints(max_length=32, pattern=r"^0\.[0-9]{0,11}[1-9][0-9]{0,11}$"),
    BeforeValidator(_in_quotes),
]
"""A decimal above 0 and below 1."""

Fraction = Annotated[
    str,
    StringConstraints(max_length=32, pattern=r"^0(\.[0-9]{1,12})?$"),
    BeforeValidator(_in_quotes),
]
"""A decimal from 0 to below 1."""

PositiveDecimal = Annotated[
    str,
    StringConstraints(
        max_length=32, pattern=r"^(0\.[0-9]{0,11}[1-9][0-9]{0,11}|[1-9](\.[0-9]{1,12})?)$"
    ),
    BeforeValidator(_in_quotes),
]
"""A decimal above 0 and below 10."""

Percent = Annotated[int, Field(ge=1, le=100)]

Count = Annotated[int, Field(ge=0)]

Sentence = Annotated[str, StringConstraints(max_length=32_768)]

Timestamp = Annotated[
    datetime, WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 64})
]

LineageId = Annotated[str, StringConstraints(max_length=16, pattern=r"^[0-9a-f]{16}$")]

Seconds = Annotated[int, Field(ge=1, le=86_400)]


class Serve(StrEnum):
    """Which drafter the engines of a cohort run."""

    STOCK = "Stock"
    STABLE = "Stable"
    LOCAL = "Local"
