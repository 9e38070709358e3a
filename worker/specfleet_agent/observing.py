"""Look at everything a decision needs, off the event loop: hashing a version takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from specfleet_agent.engine_page import EnginePage, NotAdapted, PageError, decode
from specfleet_agent.situation import Reply, Situation
from specfleet_agent.volume import Volume
from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader

log = structlog.get_logger()

RANK = 0
"""All ranks hold the same version; the first one speaks for the engine."""


class Observer:
    """Puts together what engine, volume and aggregator say now."""

    def __init__(
        self, volume: Volume, *, engine_silence_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.reply: Reply | None = None
        self._volume = volume
        self._silence_seconds = engine_silence_seconds
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._page_problem = ""
        self._beat: tuple[str, int] = ("", 0)
        self._beat_at = clock()

    async def look(self) -> Situation:
        """Return the situation of this moment."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._look, self.reply)

    def _look(self, reply: Reply | None) -> Situation:
        page, engine_problem = self._page()
        stock_file = None if page is None else page.stock_file
        files = self._volume.read(stock_file=stock_file)
        return Situation(page=page, engine_problem=engine_problem, reply=reply, files=files)

    def _page(self) -> tuple[EnginePage | None, str]:
        """Return the engine's page, and why the engine is not adapted.

        A page that cannot be used counts as no engine, and is logged.
        """
        page, problem, engine_problem = None, "", ""
        try:
            # Attached anew every time: an engine that starts again puts another file there.
            content = PageReader.attach(self._volume.shared / page_file(RANK)).read()
            page = None if content is None else self._living(decode(content))
        except ShmAbsent:
            pass
        except NotAdapted as error:
            problem, engine_problem = str(error), error.reason
        except (ShmMismatch, PageError) as error:
            problem = str(error)
        if page is not None and not page.adapting:
            problem, engine_problem = f"the engine no longer adapts: {page.reason}", page.reason
        if problem and problem != self._page_problem:
            log.warning("engine_problem", reason=problem)
        self._page_problem = problem
        return page, engine_problem

    def _living(self, page: EnginePage) -> EnginePage:
        """Return the page of an engine that lives; a dead one leaves its page as it was."""
        now, beat = self._clock(), (page.incarnation, page.beats)
        if beat != self._beat:
            self._beat, self._beat_at = beat, now
        if now - self._beat_at > self._silence_seconds:
            raise PageError(f"the engine has been silent for {self._silence_seconds:.0f} s")
        return page
