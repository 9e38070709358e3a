"""Sends the same prompts to every engine, each engine as fast as it answers, until told to stop.

Every engine has its own stream of the same numbered prompts, so a slow one does not slow the
others; what was answered by both an engine and the reference is compared.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from typing import Any

import httpx

from specfleet_cli.acceptance import Reading
from specfleet_cli.traffic.comparison import Comparison, Difference
from specfleet_cli.traffic.completions import RequestError, complete, make_client
from specfleet_cli.traffic.counters import read_counters
from specfleet_cli.traffic.prompts import Document, prompt
from specfleet_cli.traffic.tally import EngineResult, Tally, as_json, progress, result

# A stream goes on with its next prompt after a failure, but not thousands of times a second.
PAUSE_AFTER_ERROR_SECONDS = 0.5

Emit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Engine:
    """Where to send requests."""

    name: str
    url: str
    model: str


@dataclass(frozen=True, slots=True)
class Load:
    """How much to send; `requests` per engine, None for as many as there is time for."""

    concurrency: int
    max_tokens: int
    seed: int
    requests: int | None
    report_every_seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """What became of all the traffic; answers were compared with those of `reference`."""

    seconds: float
    reference: str
    engines: dict[str, EngineResult]
    differences: tuple[Difference, ...]

    @property
    def num_errors(self) -> int:
        """Return how many requests failed."""
        return sum(sum(engine.errors.values()) for engine in self.engines.values())


class Traffic:
    """Traffic to some engines; `emit` gets a line of progress now and then."""

    def __init__(
        self,
        engines: Sequence[Engine],
        documents: Sequence[Document],
        load: Load,
        *,
        reference: str,
        emit: Emit,
    ) -> None:
        self._engines = engines
        self._documents = documents
        self._load = load
        self._emit = emit
        self._comparison = Comparison(reference, num_others=len(engines) - 1)
        self._tallies = {engine.name: Tally() for engine in engines}
        self._began = time.monotonic()

    @property
    def readings(self) -> dict[str, tuple[Reading, ...]]:
        """Return the speculation counters of every engine, oldest first."""
        return {name: tuple(tally.readings) for name, tally in self._tallies.items()}

    async def drive(self, stop: asyncio.Event) -> Result:
        """Send prompts until `stop` or until all are sent; what is under way is finished."""
        self._began = time.monotonic()
        async with make_client(connections=len(self._engines) * self._load.concurrency) as client:
            await self._read_counters(client)
            reporting = asyncio.create_task(self._keep_reporting())
            async with asyncio.TaskGroup() as group:
                for engine in self._engines:
                    numbers = self._numbers()
                    for _ in range(self._load.concurrency):
                        group.create_task(self._stream(client, engine, numbers, stop))
            reporting.cancel()
            await self._read_counters(client)
        return self._result()

    def _numbers(self) -> Iterator[int]:
        if self._load.requests is None:
            return itertools.count()
        return iter(range(self._load.requests))

    async def _stream(
        self, client: httpx.AsyncClient, engine: Engine, numbers: Iterator[int], stop: asyncio.Event
    ) -> None:
        tally = self._tallies[engine.name]
        for number in numbers:
            if stop.is_set():
                return
            asked = prompt(self._documents, seed=self._load.seed, number=number)
            tally.requests += 1
            try:
                answer = await complete(
                    client,
                    engine.url,
                    model=engine.model,
                    prompt=asked.text,
                    max_tokens=self._load.max_tokens,
                )
            except RequestError as error:
                tally.errors[error.kind] += 1
                await asyncio.sleep(PAUSE_AFTER_ERROR_SECONDS)
                continue
            tally.tokens += answer.num_tokens
            tally.last_answer_at = self._seconds()
            self._comparison.add(engine.name, asked, answer)

    async def _keep_reporting(self) -> None:
        async with make_client(connections=len(self._engines)) as client:
            while True:
                before = {name: replace(tally) for name, tally in self._tallies.items()}
                since = self._seconds()
                await asyncio.sleep(self._load.report_every_seconds)
                await self._read_counters(client)
                seconds = self._seconds()
                engines = {
                    name: progress(
                        name,
                        tally,
                        self._comparison,
                        before=before[name],
                        seconds=seconds - since,
                    )
                    for name, tally in self._tallies.items()
                }
                self._emit({"event": "progress", "seconds": round(seconds, 1), "engines": engines})

    async def _read_counters(self, client: httpx.AsyncClient) -> None:
        for engine in self._engines:
            try:
                response = await client.get(f"{engine.url}/metrics")
            except httpx.HTTPError:
                # An engine that is away has no counters now; its failed requests are counted.
                continue
            reading = read_counters(response.text, at=self._seconds())
            if response.status_code == HTTPStatus.OK and reading is not None:
                self._tallies[engine.name].readings.append(reading)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _result(self) -> Result:
        comparison = self._comparison
        return Result(
            seconds=round(self._seconds(), 1),
            reference=comparison.reference,
            engines={
                name: result(name, tally, comparison) for name, tally in self._tallies.items()
            },
            differences=tuple(itertools.chain(*comparison.differences.values())),
        )


def summary(outcome: Result) -> dict[str, Any]:
    """Return the result as plain values."""
    return {
        "event": "summary",
        "seconds": outcome.seconds,
        "reference": outcome.reference,
        "engines": as_json(outcome.engines),
        "differences": [asdict(one) for one in outcome.differences],
    }
