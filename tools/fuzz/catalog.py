"""All borders that are fuzzed."""

from __future__ import annotations

from tools.fuzz.border import Border
from tools.fuzz.borders import documents, messages, neighbours, shared_memory, store, tensors


def catalog() -> tuple[Border, ...]:
    """Return every border; their names are different."""
    modules = (documents, messages, neighbours, shared_memory, store, tensors)
    return tuple(border for module in modules for border in module.borders())
