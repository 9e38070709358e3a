"""What drafters must share to be comparable and mixable, and the name of a drafter's weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

Shapes = Mapping[str, tuple[int, ...]]

STOCK = "stock"
LOCAL = "local"
MISMATCH = "mismatch"
EARLIER = "earlier"
"""Counters of the drafters that an engine has not run for longest, added up."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Drafters are mixable only inside one lineage; `id` names it in paths and messages."""

    target_digest: str
    family: str
    layout: str
    dtype: str
    shapes_digest: str

    @property
    def id(self) -> str:
        """Return 16 hexadecimal digits that differ whenever any field differs."""
        fields = json.dumps(asdict(self), sort_keys=True).encode()
        return hashlib.sha256(fields).hexdigest()[:16]


def shapes_digest(shapes: Shapes) -> str:
    """Return the SHA-256 of the names and shapes of a drafter's tensors, hexadecimal."""
    rows = sorted((name, list(shape)) for name, shape in shapes.items())
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def short(digest: str) -> str:
    """Return the first eight digits of a digest; the words `stock`, `local`, `mismatch` stay."""
    return digest[:8]
