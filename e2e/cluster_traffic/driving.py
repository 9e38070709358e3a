"""Sends requests without a pause: from some clients, or at a rate whatever the answers do."""

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
MOST_OPEN = 1024
"""More requests under way than that are no test of anything but this driver."""
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


class Saturated(RuntimeError):
    """The driver cannot keep to its rate, so what it would record says nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: `clients` one request after the other each, or `rate_per_second` in all."""

    clients: int | None = 8
    rate_per_second: float | None = None
    max_tokens: int = 32
    distinct_prompts: int = 64
    seed: int = 1
    timeout_seconds: float = 60.0

    def __post_init__(self) -> None:
        if (self.clients is None) == (self.rate_per_second is None):
            raise ValueError(
                f"clients is {self.clients} and rate_per_second is {self.rate_per_second}, "
                "expected one of them"
            )


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
        connections = MOST_OPEN if load.clients is None else load.clients
        async with make_client(connections=connections) as client:
            model = await _model(client, self._url, stop, patience_seconds=load.timeout_seconds)
            async with asyncio.TaskGroup() as group:
                if load.rate_per_second is not None:
                    await self._at_a_rate(client, model, load.rate_per_second, group, stop)
                for _ in range(load.clients or 0):
                    group.create_task(self._one_after_the_other(client, model, stop))

    async def _one_after_the_other(
        self, client: httpx.AsyncClient, model: str, stop: asyncio.Event
    ) -> None:
        while not stop.is_set():
            record = await self._ask(client, model)
            if record.failure:
                await asyncio.sleep(PAUSE_AFTER_FAILURE_SECONDS)

    async def _at_a_rate(
        self,
        client: httpx.AsyncClient,
        model: str,
        rate: float,
        group: asyncio.TaskGroup,
        stop: asyncio.Event,
    ) -> None:
        began = time.monotonic()
        for number in itertools.count():
            if stop.is_set():
                return
            if len(self._open) >= MOST_OPEN:
                raise Saturated(f"{MOST_OPEN} requests are under way at {rate:g} a second")
            group.create_task(self._ask(client, model))
            await asyncio.sleep(max(0.0, began + (number + 1) / rate - time.monotonic()))

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
