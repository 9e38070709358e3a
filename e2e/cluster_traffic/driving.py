"""Sends requests without a pause, from some clients."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from e2e.cluster_traffic.asking import Question, ask, make_client
from e2e.cluster_traffic.records import Record
from specfleet_cli.traffic.completions import RequestError, served_model
from specfleet_cli.traffic.prompts import Document, prompt

PAUSE_AFTER_FAILURE_SECONDS = 0.1
"""A client that is refused at once would otherwise ask thousands of times a second."""
DOCUMENTS = (
    Document(
        "draft", "A draft head proposes what the target will say next, and is often right. " * 4
    ),
    Document(
        "fleet", "Every engine of a fleet learns from the traffic that it serves itself. " * 4
    ),
    Document("round", "A round ends when enough workers have sent what they have changed. " * 4),
    Document("swap", "Weights are exchanged between two steps, and no answer is another one. " * 4),
)


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: each client asks one request after the other."""

    clients: int = 8
    max_tokens: int = 32
    distinct_prompts: int = 64
    seed: int = 1
    timeout_seconds: float = 60.0


class Driving:
    """One stream of traffic; `emit` gets every record when its request has ended."""

    def __init__(
        self,
        url: str,
        load: Load,
        *,
        emit: Callable[[Record], None],
        documents: Sequence[Document] = DOCUMENTS,
    ) -> None:
        self._url = url.rstrip("/")
        self._load = load
        self._emit = emit
        self._documents = documents
        self._numbers = itertools.count()
        self._open: dict[int, float] = {}
        """When the requests under way began, by number."""

    def settled(self) -> float:
        """Return the time before which every request that began has ended and was emitted."""
        return min(tuple(self._open.values()), default=time.time())

    async def drive(self, stop: asyncio.Event) -> None:
        """Send until `stop`; what is under way is finished."""
        load = self._load
        async with make_client(connections=load.clients) as client:
            model = await _model(client, self._url, stop, patience_seconds=load.timeout_seconds)
            async with asyncio.TaskGroup() as group:
                for _ in range(load.clients):
                    group.create_task(self._one_after_the_other(client, model, stop))

    async def _one_after_the_other(
        self, client: httpx.AsyncClient, model: str, stop: asyncio.Event
    ) -> None:
        while not stop.is_set():
            record = await self._ask(client, model)
            if record.failure:
                await asyncio.sleep(PAUSE_AFTER_FAILURE_SECONDS)

    async def _ask(self, client: httpx.AsyncClient, model: str) -> Record:
        number, load = next(self._numbers), self._load
        asked = prompt(self._documents, seed=load.seed, number=number % load.distinct_prompts)
        # Half of the requests are streamed: both ways must work, and these tell the TTFT.
        question = Question(number, asked.number, asked.text, stream=number % 2 == 1)
        self._open[number] = time.time()
        record = await ask(
            client,
            self._url,
            question,
            model=model,
            max_tokens=load.max_tokens,
            timeout_seconds=load.timeout_seconds,
        )
        self._emit(record)
        del self._open[number]
        return record


async def _model(
    client: httpx.AsyncClient, url: str, stop: asyncio.Event, *, patience_seconds: float
) -> str:
    """Return the name of the served model; before it there is nothing to record."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return await served_model(client, url)
        except RequestError:
            if time.monotonic() >= deadline or stop.is_set():
                raise
            await asyncio.sleep(PAUSE_AFTER_FAILURE_SECONDS)
