"""The few things this plugin asks of CUDA, behind names that tests can stand in for.

`Cuda` is torch's own API, call by call; a test holds the calls to torch's signatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch


class Event(Protocol):
    """A place in a stream's work."""

    def record(self, stream: Any = None) -> None:
        """Put it behind all work of `stream` so far; None is the current stream."""

    def query(self) -> bool:
        """Say whether everything before it is done."""

    def synchronize(self) -> None:
        """Wait until everything before it is done."""

    def elapsed_time(self, end_event: Any) -> float:
        """Return the milliseconds between this event and a later one."""


class Stream(Protocol):
    """A sequence of work on a device."""

    def wait_event(self, event: Any) -> None:
        """Let later work of this stream begin after `event`."""


class Device(Protocol):
    """One accelerator, as the process that owns it sees it."""

    def new_stream(self) -> Stream:
        """Return a stream beside all others."""

    def current_stream(self) -> Stream:
        """Return the stream on which this thread's work goes."""

    def using(self, stream: Stream) -> AbstractContextManager[object]:
        """Let this thread's work go on `stream` for the time of a `with` block."""

    def new_event(self, *, timed: bool) -> Event:
        """Return an event that is nowhere yet."""

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return memory of the device."""

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return memory of this machine that copies to and from the device need not wait for."""


class Cuda:
    """A GPU through torch."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def new_stream(self) -> Stream:
        """Return a stream beside all others."""
        return torch.cuda.Stream(self._device)

    def current_stream(self) -> Stream:
        """Return the stream on which this thread's work goes."""
        return torch.cuda.current_stream(self._device)

    def using(self, stream: Any) -> AbstractContextManager[object]:
        """Let this thread's work go on `stream` for the time of a `with` block."""
        return torch.cuda.stream(stream)

    def new_event(self, *, timed: bool) -> Event:
        """Return an event that is nowhere yet."""
        return torch.cuda.Event(enable_timing=timed)

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return memory of the device."""
        return torch.empty(tuple(shape), dtype=dtype, device=self._device)

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return memory of this machine that copies to and from the device need not wait for."""
        return torch.empty(tuple(shape), dtype=dtype, pin_memory=True)
