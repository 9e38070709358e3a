"""Open what one engine shares with its sidecar: stock drafter, capture ring, rank page, session."""

from __future__ import annotations

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
from specfleet_engine.swapping import StagedT, Weights


def open_session(
    settings: Settings, *, layout: Layout, lineage: Lineage, live: Weights[StagedT], rank: int
) -> Session[StagedT]:
    """Write the stock drafter, make ring and page, and return the session that keeps them."""
    directory = settings.shm_directory
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / STOCK_FILE, live.stock)
    return Session(
        directory=directory,
        layout=layout,
        lineage=lineage,
        live=live,
        capture=_capture(settings, layout),
        page=PageWriter.create(directory / page_file(rank)),
    )


def say_why(settings: Settings, rank: int, error: Exception) -> None:
    """Leave the reason why this engine is not adapted on the rank page, for the agent."""
    settings.shm_directory.mkdir(parents=True, exist_ok=True)
    page = PageWriter.create(settings.shm_directory / page_file(rank))
    page.write({"adapting": False, "reason": f"{type(error).__name__}: {error}"})


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
