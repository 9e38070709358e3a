"""Watch the engine's pages during a comparison, and queue what they show as evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from specfleet_agent import blocks, frontend_page, requests
from specfleet_agent.engine_page import PageError
from specfleet_agent.frontend_page import FrontendPage
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.outbox import Destination, Outbox, Record
from specfleet_agent.situation import Worker
from specfleet_agent.switchback import Running, running
from specfleet_common.shm.layout import ShmAbsent, ShmMismatch
from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageReader

log = structlog.get_logger()

POLL_SECONDS = 0.25


class Witness:
    """Looks at both pages of the engine several times a second."""

    def __init__(
        self,
        worker: Worker,
        shared: Path,
        observer: Observer,
        outbox: Outbox,
        instruments: Instruments,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._worker = worker
        self._path = shared / FRONTEND_PAGE_FILE
        self._observer = observer
        self._outbox = outbox
        self._instruments = instruments
        self._clock = clock
        self._watched: blocks.Watched | None = None
        self._joining = requests.Joining()
        self._problem = ""

    async def watch(self) -> float:
        """Look once; return the pause before the next look."""
        heard = self._observer.reply
        if heard is None or heard.message.comparison is None:
            self._watched, self._joining = None, requests.Joining()
            return POLL_SECONDS
        seen = await self._observer.look()
        if seen.page is None or seen.page_written is None:
            return POLL_SECONDS
        now = self._clock()
        comparison = running(self._worker, seen, now=now)
        self._watched, found = blocks.watch(self._watched, comparison, seen.page, seen.page_written)
        self._joining, joined = requests.join(
            self._joining,
            comparison,
            None if comparison is None else await asyncio.to_thread(self._frontend),
            seen.page,
            now=now,
        )
        if comparison is not None:
            self._instruments.blocks.inc(len({record.block for record in found}))
            self._instruments.requests.labels(result="recorded").inc(len(joined.requests))
            self._instruments.requests.labels(result="unknown").inc(joined.num_unknown)
            self._queue(comparison, (*found, *joined.requests))
        return POLL_SECONDS

    def _queue(self, comparison: Running, records: tuple[Record, ...]) -> None:
        destination = Destination(comparison.lineage_id, comparison.id)
        dropped = self._outbox.add(destination, records)
        self._instruments.count_evidence(dropped, result="dropped")

    def _frontend(self) -> FrontendPage | None:
        """Return the API server's page, None while there is none that can be used."""
        problem, page = "", None
        try:
            # Attached anew every time: an engine that starts again puts another file there.
            content = PageReader.attach(self._path).read()
            page = None if content is None else frontend_page.decode(content)
        except ShmAbsent:
            pass
        except (ShmMismatch, PageError) as error:
            problem = str(error)
        if problem and problem != self._problem:
            log.warning("frontend_page_problem", reason=problem)
        self._problem = problem
        return page
