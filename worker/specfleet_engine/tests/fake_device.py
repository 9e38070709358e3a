"""A device that is this machine's memory: copies are done at once, and events say so later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class FakeEvent:
    """It has passed `seconds` after it was recorded."""

    clock: Callable[[], float]
    seconds: float
    recorded: float | None = None
    stream: Any = None

    def record(self, stream: Any = None) -> None:
        self.recorded, self.stream = self.clock(), stream

    def query(self) -> bool:
        return self.recorded is None or self.clock() >= self.recorded + self.seconds

    def synchronize(self) -> None:
        """Everything is done in truth."""

    def elapsed_time(self, end_event: FakeEvent) -> float:
        assert self.recorded is not None
        assert end_event.recorded is not None
        assert end_event.query(), "the later event has not passed"
        return 1e3 * (end_event.recorded - self.recorded)


@dataclass
class FakeStream:
    """Notes what it waits for."""

    name: str
    waited_for: list[FakeEvent] = field(default_factory=list)

    def wait_event(self, event: FakeEvent) -> None:
        self.waited_for.append(event)


class FakeDevice:
    """Memory of this machine; `seconds` is how late it is with everything."""

    def __init__(self, seconds: float = 0.01, clock: Callable[[], float] = time.monotonic) -> None:
        self.main = FakeStream("main")
        self.used: list[str] = []
        """The streams on which something was done, other than the main one."""
        self._seconds = seconds
        self._clock = clock

    def new_stream(self) -> FakeStream:
        return FakeStream("side")

    def current_stream(self) -> FakeStream:
        return self.main

    @contextmanager
    def using(self, stream: Any) -> Iterator[None]:
        self.used.append(stream.name)
        yield

    def new_event(self, *, timed: bool) -> FakeEvent:
        return FakeEvent(self._clock, self._seconds)

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(tuple(shape), dtype=dtype)

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(tuple(shape), dtype=dtype)
