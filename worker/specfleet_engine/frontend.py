"""The frontend page: how requests fared, written in the API server's process.

Its own thread writes; who adds a request waits for nothing.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageWriter
from specfleet_engine.request_names import page_name

KEPT_REQUESTS = 512
PAGE_BYTES = 256 << 10
"""More than so many requests with the longest names need."""
WRITE_SECONDS = 0.25
_DIGITS = 6

log = logging.getLogger("vllm.specfleet")


@dataclass(frozen=True, slots=True)
class Finished:
    """One request that has left the engine; `started` and `ended` are on the monotonic clock."""

    request: str
    started: float
    ended: float
    failed: bool
    ttft_seconds: float
    """Zero when no token came."""
    tpot_seconds: float
    """Zero when fewer than two tokens came."""
    preemptions: int

    def facts(self) -> Mapping[str, object]:
        """Return the fields as plain values, in as few letters as they need."""
        return {
            "request": self.request,
            "started": round(self.started, _DIGITS),
            "ended": round(self.ended, _DIGITS),
            "failed": self.failed,
            "ttft_seconds": round(self.ttft_seconds, _DIGITS),
            "tpot_seconds": round(self.tpot_seconds, _DIGITS),
            "preemptions": self.preemptions,
        }


def finished(told: Any, *, now: float) -> Finished:
    """Read vLLM's FinishedRequestStats of a request that ends now.

    Its id is the external one, and its times are differences on the engine core's monotonic clock,
    which starts where the request queues there. Of a request whose client went away vLLM has none.
    """
    return Finished(
        request=page_name(told.request_id or ""),
        started=now - (told.queued_time + told.inference_time),
        ended=now,
        failed=str(told.finish_reason) == "error",
        ttft_seconds=told.queued_time + told.prefill_time if told.num_generation_tokens else 0.0,
        tpot_seconds=told.mean_time_per_output_token,
        preemptions=told.num_preemptions,
    )


class FrontendPage:
    """The newest finished requests of one API server."""

    def __init__(self, page: PageWriter) -> None:
        self._page = page
        self._incarnation = secrets.token_hex(8)
        self._requests: deque[Mapping[str, object]] = deque(maxlen=KEPT_REQUESTS)
        self._news = threading.Event()

    @classmethod
    def create(cls, directory: Path) -> FrontendPage:
        """Put a new page into the directory; OSError where there is no room for it."""
        directory.mkdir(parents=True, exist_ok=True)
        return cls(PageWriter.create(directory / FRONTEND_PAGE_FILE, PAGE_BYTES))

    def start(self) -> None:
        """Start the thread that writes the page; it ends with the process."""
        self.write()
        threading.Thread(target=self._run, name="specfleet", daemon=True).start()

    def add(self, request: Finished) -> None:
        """Put a request on the page, at the latest with its next writing."""
        self._requests.append(request.facts())
        self._news.set()

    def write(self) -> None:
        """Write the page now."""
        self._page.write({"incarnation": self._incarnation, "requests": list(self._requests)})

    def _run(self) -> None:
        try:
            while True:
                self._news.wait()
                self._news.clear()
                self.write()
                time.sleep(WRITE_SECONDS)
        except Exception:
            log.exception("specfleet stops telling how requests fare")
