"""All borders that are fuzzed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from tools.fuzz.border import Border

_MODULES = (
    "documents",
    "messages",
    "neighbours",
    "shared_memory",
    "store",
    "tensors",
    # Last, because it loads torch.
    "training",
)


def catalog() -> tuple[Border, ...]:
    """Return every border; their names are different."""
    return tuple(_each())


def find(name: str) -> Border:
    """Return one border, without loading what comes after it."""
    return next(border for border in _each() if border.name == name)


def _each() -> Iterator[Border]:
    for name in _MODULES:
        yield from import_module(f"tools.fuzz.borders.{name}").borders()
