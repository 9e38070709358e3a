"""Where the plugin enters vLLM's API server: a stat logger that is told of finished requests.

vLLM makes one of what the entry point names, whatever the environment; outside of a fleet it does
nothing. A failure in it never reaches vLLM: the page stays as it is, serving goes on.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from vllm.v1.metrics.loggers import StatLoggerBase

from specfleet_engine.frontend import FrontendPage, finished
from specfleet_engine.plugin import settings_here

log = logging.getLogger("vllm.specfleet")


class StatLogger(StatLoggerBase):  # type: ignore[misc]
    """Writes the frontend page."""

    def __init__(self, vllm_config: object, engine_index: int = 0) -> None:
        self._page: FrontendPage | None = None
        settings = settings_here()
        if settings is None:
            return
        try:
            page = FrontendPage.create(settings.shm_directory)
            page.start()
        except Exception as error:  # noqa: BLE001 - an engine without a page must still serve
            log.error("specfleet does not tell how requests fare: %s", error)
            return
        self._page = page

    def record(
        self,
        scheduler_stats: object,
        iteration_stats: Any,
        mm_cache_stats: object = None,
        engine_idx: int = 0,
    ) -> None:
        """Take the requests that one iteration of the engine has finished."""
        if self._page is None or iteration_stats is None:
            return
        try:
            for told in iteration_stats.finished_requests:
                self._page.add(finished(told, now=time.monotonic()))
        except Exception as error:
            log.error("specfleet stops telling how requests fare: %s", error, exc_info=error)
            self._page = None

    def log_engine_initialized(self) -> None:
        """Say nothing: the page is there."""
