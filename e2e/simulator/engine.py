"""Continuous batching without a model: steps that take their time, and what each step adds."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from e2e.simulator.knobs import Knobs
from e2e.simulator.metrics import Metrics, Verdict
from e2e.simulator.model import Model
from e2e.simulator.requests import Output, Request
from e2e.simulator.texts import Answer

if TYPE_CHECKING:
    from e2e.simulator.finishing import Finishing
    from e2e.simulator.telling import Teller

UNADAPTED = ("stock", "")
"""Name and digest of the drafter of an engine without the plugin."""


class Overloaded(Exception):
    """There are as many unfinished requests as there may be."""


class Engine:
    """Answers prompts, all of one batch a step at a time."""

    def __init__(
        self,
        model: Model,
        *,
        knobs: Knobs,
        metrics: Metrics,
        teller: Teller | None,
        finishing: Finishing | None,
        num_speculative_tokens: int,
        max_num_seqs: int,
    ) -> None:
        self._model = model
        self._knobs = knobs
        self._metrics = metrics
        self._teller = teller
        self._finishing = finishing
        self._depth = num_speculative_tokens
        self._max_num_seqs = max_num_seqs
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._finished: list[str] = []
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_stopped = False

    @property
    def drafter(self) -> tuple[str, str]:
        """Return the name under which the live drafter is counted, and its digest."""
        return UNADAPTED if self._teller is None else self._teller.drafter

    @property
    def num_unfinished(self) -> int:
        """Return how many requests wait or run."""
        return len(self._waiting) + len(self._running)

    def submit(
        self, prompt: Sequence[int], *, external_id: str, max_tokens: int, ignore_stop: bool
    ) -> Request:
        """Take a request; Overloaded when there are too many. A stopped engine aborts it."""
        limit = self._knobs.behaviour.max_requests
        if limit is not None and self.num_unfinished >= limit:
            self._metrics.rejected()
            raise Overloaded
        stop_token = None if ignore_stop else self._model.stop_token
        request = Request(
            id=f"{external_id}-{secrets.token_hex(4)}",
            external_id=external_id,
            prompt=prompt,
            answer=Answer(prompt, stop_token=stop_token),
            max_tokens=max_tokens,
            stop_token=stop_token,
            arrived=time.monotonic(),
        )
        self._waiting.append(request)
        if self._is_stopped:
            self.abort(request)
        self._say_queues()
        self._news.set()
        return request

    def fail(self, external_id: str) -> None:
        """Take note of a request that fails before anything is done for it."""
        if self._finishing is not None:
            self._finishing.failed(external_id)

    def abort(self, request: Request) -> None:
        """End a request with what it has; harmless when it has ended."""
        if request.finish_reason is not None:
            return
        request.finish_reason = "abort"
        request.outputs.put_nowait(Output((), "abort"))
        self._retire(request)

    async def stop(self, *, timeout_seconds: float) -> None:
        """Abort new requests from now on, and those under way once the time is up."""
        self._is_stopped = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), timeout_seconds)
        for request in [*self._running, *self._waiting]:
            self.abort(request)

    async def run(self) -> None:
        """Do steps for ever."""
        while True:
            await self._knobs.until(lambda behaviour: not behaviour.hang)
            new = self._admit()
            batch = [one for one in self._running if one.ready <= time.monotonic()]
            if batch or new or self._finished:
                await self._step(new, batch)
            else:
                await self._pause()

    def _admit(self) -> list[Request]:
        """Move waiting requests into the batch, as far as there is room."""
        behaviour, new = self._knobs.behaviour, []
        while self._waiting and len(self._running) < self._max_num_seqs:
            request = self._waiting.popleft()
            prefill_seconds = max(0.0, behaviour.ttft_seconds - behaviour.step_seconds)
            request.ready = time.monotonic() + prefill_seconds
            self._running.append(request)
            new.append(request)
        self._say_queues()
        return new

    async def _pause(self) -> None:
        """Wait for a request, or for the first of those that are not ready yet."""
        self._news.clear()
        ready = min((one.ready for one in self._running), default=None)
        timeout = None if ready is None else max(0.0, ready - time.monotonic())
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout)

    async def _step(self, new: Sequence[Request], batch: list[Request]) -> None:
        finished, self._finished = tuple(self._finished), []
        if self._teller is not None:
            self._teller.step_begins(new, finished, batch)
        if batch:
            behaviour, (name, digest) = self._knobs.behaviour, self.drafter
            drafting = behaviour.drafting_seconds(name=name, digest=digest)
            await asyncio.sleep(behaviour.step_seconds + drafting)
            if self._teller is not None:
                self._teller.took(behaviour.step_seconds)
            self._verify(batch)
            self._draft(batch, seconds=drafting)
        if self._teller is not None:
            self._teller.step_ends()

    def _verify(self, batch: Sequence[Request]) -> None:
        """Let every request of a batch take its next tokens.

        The plugin sees requests that were aborted during the step too, as it does in vLLM.
        """
        now = time.monotonic()
        if self._teller is not None:
            self._teller.verified(batch)
        for request in batch:
            if request.finish_reason is not None:
                continue
            if request.is_started and self._depth:
                self._metrics.verified(Verdict(self._depth, request.accepted))
            output = request.advance()
            self._metrics.put_out(request, len(output.tokens), now=now)
            request.first_token = request.first_token or now
            request.newest_token = now
            request.outputs.put_nowait(output)
            if output.finish_reason is not None:
                self._metrics.finished(request, now=now)
                if self._finishing is not None:
                    self._finishing.finished(request, now=now)
                self._retire(request)

    def _draft(self, batch: Sequence[Request], *, seconds: float) -> None:
        """Draft for the next step, which is taken to have lasted as long as the drafter takes."""
        name, digest = self.drafter
        rates = self._knobs.behaviour.rates(name=name, digest=digest)
        drafts = [request.draft(self._depth, rates, name) for request in batch]
        if self._teller is not None:
            self._teller.took(seconds)
            self._teller.drafted(drafts)

    def _retire(self, request: Request) -> None:
        if request in self._running:
            self._running.remove(request)
            self._finished.append(request.id)
        else:
            self._waiting.remove(request)
        if request.finish_reason == "abort":
            self._metrics.finished(request, now=time.monotonic())
        self._news.set()
        self._say_queues()

    def _say_queues(self) -> None:
        self._metrics.queues(running=len(self._running), waiting=len(self._waiting))
        if self.num_unfinished:
            self._idle.clear()
        else:
            self._idle.set()
