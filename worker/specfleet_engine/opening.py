"""Open what one engine shares with its sidecar: stock drafter, capture ring, rank page, session."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable

from specfleet_common.files import write_file
from specfleet_common.lineage import Lineage
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import RING_FILE, STOCK_FILE, page_file
from specfleet_common.shm.pages import PageWriter
from specfleet_engine.capturing import Capture
from specfleet_engine.following import Following, FollowPolicy
from specfleet_engine.records import RingSink
from specfleet_engine.session import Session
from specfleet_engine.settings import Settings
from specfleet_engine.weights.agreeing import Gate, OpenGate, RankGate
from specfleet_engine.weights.swapping import StagedT, Weights

log = logging.getLogger("vllm.specfleet")


PAGE_BYTES = 256 << 10
"""More than the most drafters with all bands and the most requests with the longest names need."""
_LETTERS = 1000
_REASON_BYTES = 16 * _LETTERS
"""JSON writes a letter as up to 12 bytes."""


class SharedMemoryFull(Exception):
    """The memory that engine and sidecar share has no room for what they exchange."""


def open_session(
    settings: Settings,
    *,
    layout: Layout,
    lineage: Lineage,
    live: Weights[StagedT],
    rank: int,
    num_ranks: int = 1,
    engine: str = "",
    clock: Callable[[], float] = time.monotonic,
) -> Session[StagedT]:
    """Write the stock drafter, make ring and page, and return the session that keeps them.

    All ranks of one `engine` see the same rows, so the first one alone records them.
    SharedMemoryFull when there is no room for them.
    """
    directory = settings.shm_directory
    directory.mkdir(parents=True, exist_ok=True)
    try:
        # First, so that there is room to say that there is none for the others.
        page = PageWriter.create(directory / page_file(rank), PAGE_BYTES)
        capture = None
        if rank == 0:
            write_file(directory / STOCK_FILE, live.stock)
            capture = _capture(settings, layout)
        gate: Gate = OpenGate()
        if num_ranks > 1:
            gate = RankGate(directory, rank=rank, num_ranks=num_ranks, engine=engine)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise SharedMemoryFull(
            f"{directory} is too small for what engine and agent exchange, raise"
            f" spec.engine.sharedMemory: {error}"
        ) from error
    return Session(
        directory=directory,
        layout=layout,
        lineage=lineage,
        live=live,
        capture=capture,
        page=page,
        clock=clock,
        gate=gate,
        num_ranks=num_ranks,
        engine=engine,
    )


def say_why(settings: Settings, rank: int, error: Exception) -> None:
    """Leave the reason why this engine is not adapted on the rank page, for the agent.

    Where that cannot be done, the log has it: an engine that cannot adapt must still serve.
    """
    try:
        settings.shm_directory.mkdir(parents=True, exist_ok=True)
        page = PageWriter.create(settings.shm_directory / page_file(rank), _REASON_BYTES)
        page.write({"adapting": False, "reason": f"{type(error).__name__}: {error}"[:_LETTERS]})
    except OSError as trouble:
        log.error("specfleet cannot tell the agent why: %s", trouble)


def _capture(settings: Settings, layout: Layout) -> Capture | None:
    if not settings.capture:
        return None
    policy = FollowPolicy(
        fleet=settings.fleet,
        follow_requests=settings.follow_requests,
        max_tokens=settings.max_tokens,
        holdout_percent=settings.holdout_percent,
        key_tokens=settings.key_tokens,
    )
    ring = RingSink.create(settings.shm_directory / RING_FILE, layout, settings.ring_bytes)
    return Capture(Following(policy), ring)
