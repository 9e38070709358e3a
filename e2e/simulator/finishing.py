"""Tells the plugin's frontend page how requests fared, as vLLM tells its stat loggers.

A request whose client went away is not told of, as in vLLM.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from e2e.simulator.requests import Request
from specfleet_engine.frontend import FrontendPage
from specfleet_engine.frontend import finished as read


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the plugin reads of vLLM's FinishedRequestStats; the wait for a place is in prefill."""

    finish_reason: object
    request_id: str | None
    num_generation_tokens: int
    prefill_time: float
    inference_time: float
    mean_time_per_output_token: float
    num_preemptions: int = 0
    queued_time: float = 0.0


class Finishing:
    """The page of one engine."""

    def __init__(self, page: FrontendPage) -> None:
        self._page = page

    def start(self) -> None:
        """Write the page from now on."""
        self._page.start()

    def finished(self, request: Request, *, now: float) -> None:
        """Tell of a request that has its whole answer."""
        told = Statistics(
            finish_reason=request.finish_reason,
            request_id=request.external_id,
            num_generation_tokens=request.emitted,
            prefill_time=request.first_token - request.arrived,
            inference_time=now - request.arrived,
            mean_time_per_output_token=(
                (now - request.first_token) / (request.emitted - 1) if request.emitted > 1 else 0.0
            ),
        )
        self._page.add(read(told, now=now))

    def failed(self, external_id: str) -> None:
        """Tell of a request that fails now, before it has a token."""
        told = Statistics("error", external_id, 0, 0.0, 0.0, 0.0)
        self._page.add(read(told, now=time.monotonic()))
