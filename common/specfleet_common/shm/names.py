"""The names of what engine and sidecar share in one directory."""

from __future__ import annotations

RING_FILE = "capture.ring"
BANK_FILE = "weights.bank"
STOCK_FILE = "stock.safetensors"
"""The drafter as the engine was started with; not shared memory, but written beside it."""
FRONTEND_PAGE_FILE = "frontend.page"
"""What the API server knows of finished requests."""
DRAINING_FILE = "draining"
"""While it is there, the engine keeps no connection alive: it is about to go."""


def page_file(rank: int) -> str:
    """Return the name of one rank's page."""
    return f"rank-{rank}.page"
