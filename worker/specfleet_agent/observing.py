"""Look at everything a decision needs, off the event loop: hashing a version takes a while."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping

import structlog

from specfleet_agent.break_even import BreakEven, Window, break_even
from specfleet_agent.engine_page import EnginePage, NotAdapted, PageError, decode
from specfleet_agent.other_ranks import OtherRanks
from specfleet_agent.situation import Reply, Situation, Written
from specfleet_agent.volume import Volume
from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader

log = structlog.get_logger()

FIRST_RANK = 0
"""It alone counts and captures; what the engine runs, all ranks have to say."""


class Observer:
    """Puts together what engine, volume and aggregator say now."""

    def __init__(
        self, volume: Volume, *, engine_silence_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.reply: Reply | None = None
        self._volume = volume
        self._silence_seconds = engine_silence_seconds
        self._clock = clock
        self._other_ranks = OtherRanks(volume.shared, silence_seconds=engine_silence_seconds)
        self._one_at_a_time = asyncio.Lock()
        self._page_problem = ""
        self._content: Mapping[str, object] = {}
        self._decoded_page: EnginePage | None = None
        self._beat: tuple[str, int] = ("", 0)
        self._started_at = self._beat_at = clock()
        self._looked_at = -math.inf
        """When the page with this beat was last looked for, and found."""
        self._written = Written(-math.inf, math.inf)
        self._window = Window()
        self._break_even = BreakEven()

    async def look(self) -> Situation:
        """Return the situation of this moment."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._look, self.reply)

    def _look(self, reply: Reply | None) -> Situation:
        page, engine_problem = self._page()
        stock_file = None if page is None else page.stock_file
        files = self._volume.read(stock_file=stock_file)
        return Situation(
            page=page,
            engine_problem=engine_problem,
            reply=reply,
            files=files,
            started_at=self._started_at,
            page_written=None if page is None else self._written,
            break_even=BreakEven() if page is None else self._paying(page),
        )

    def _paying(self, page: EnginePage) -> BreakEven:
        """Return from which acceptance length on drafts pay, as of the newest minutes."""
        window = self._window.plus(page, now=self._written.by)
        if window != self._window:
            self._window, self._break_even = window, break_even(window)
        return self._break_even

    def _page(self) -> tuple[EnginePage | None, str]:
        """Return the engine's page, and why the engine is not adapted.

        A page that cannot be used counts as no engine, and is logged.
        """
        page, problem, engine_problem = None, "", ""
        looked_at = self._clock()
        try:
            # Attached anew every time: an engine that starts again puts another file there.
            content = PageReader.attach(self._volume.shared / page_file(FIRST_RANK)).read()
            if content is not None:
                page = self._living(self._decoded(content), looked_at)
                page = self._other_ranks.joined(page, now=looked_at)
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

    def _decoded(self, content: Mapping[str, object]) -> EnginePage:
        """Return the page; it is looked at more often than it changes, and decoding costs most."""
        if self._decoded_page is None or content != self._content:
            self._decoded_page = decode(content)
            self._content = content
        return self._decoded_page

    def _living(self, page: EnginePage, looked_at: float) -> EnginePage:
        """Return the page of an engine that lives; a dead one leaves its page as it was."""
        now, beat = self._clock(), (page.incarnation, page.beats)
        if beat != self._beat:
            self._beat, self._beat_at = beat, now
            self._written = Written(after=self._looked_at, by=now)
        self._looked_at = looked_at
        if now - self._beat_at > self._silence_seconds:
            raise PageError(f"the engine has been silent for {self._silence_seconds:.0f} s")
        return page
