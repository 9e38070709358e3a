"""Builders for tests: a layout, and steps that show only what matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from specfleet_common.shm.capture import Step
from specfleet_common.shm.layout import Layout


def layout(**changes: Any) -> Layout:
    """Return a small layout."""
    fields: dict[str, Any] = {
        "family": "mtp",
        "layout": "mimo",
        "lineage_id": "0123456789abcdef",
        "hidden_size": 4,
        "hidden_dtype": "float32",
        "num_speculative_tokens": 3,
    }
    return Layout(**(fields | changes))


def step(rows: tuple[int, ...] = (2, 1), *, hidden_size: int = 4, **changes: Any) -> Step:
    """Return a step of `len(rows)` requests with that many rows each."""
    count = sum(rows)
    first = np.cumsum([0, *rows])[: len(rows)]
    fields: dict[str, Any] = {
        "number": 7,
        "digest": "stock",
        "serials": np.arange(100, 100 + len(rows), dtype=np.uint64),
        "first": first.astype(np.uint32),
        "rows": np.array(rows, dtype=np.uint32),
        "drafts": np.arange(3 * len(rows), dtype=np.int32).reshape(len(rows), 3),
        "tokens": np.arange(count, dtype=np.int32),
        "fed": np.arange(1, count + 1, dtype=np.int32),
        "positions": np.arange(10, 10 + count, dtype=np.int32),
        "hidden": np.arange(count * hidden_size, dtype=np.float32).reshape(count, hidden_size),
    }
    return Step(**(fields | changes))
