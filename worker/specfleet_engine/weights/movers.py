"""How weights get from this machine's memory into live parameters, and back to be looked at.

On a CPU that is plain copying. On a device, staging brings them into one buffer beside the live
ones, in chunks on a side stream, so that exchanging them is copying inside the device, in the order
of the runner's own work.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Protocol

import torch

from specfleet_engine.devices import Device, Event, Stream
from specfleet_engine.layouts import LayoutError, Parameters
from specfleet_engine.weights.digests import fingerprint

CHUNK_BYTES = 4 << 20
"""Small enough that copies of the runner's own get in between."""
_ALIGNMENT = 256


class Mover(Protocol):
    """Moves the parameters of one drafter."""

    def stage(self, parameters: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return parameters with the same content, from where `apply` is quick."""

    def apply(self, staged: Parameters, live: Parameters) -> None:
        """Write staged parameters into live ones, between two steps."""

    def fingerprint(self, live: Parameters) -> str:
        """Return the fingerprint of live parameters as they are now."""


class HostMover:
    """Where live parameters lie in this machine's memory."""

    def stage(self, parameters: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Leave them where they are."""
        return parameters

    @torch.no_grad()
    def apply(self, staged: Parameters, live: Parameters) -> None:
        """Copy."""
        for name, value in staged.items():
            live[name].copy_(value)

    def fingerprint(self, live: Parameters) -> str:
        """Return the fingerprint."""
        return fingerprint(live)


class DeviceMover:
    """Where live parameters lie on a device; `main` is the stream of the runner's work.

    The thread that stages and fingerprints may wait; the one that applies does not.
    """

    def __init__(self, live: Parameters, device: Device, main: Stream) -> None:
        for name, value in live.items():
            if not value.is_contiguous():
                raise LayoutError(f"parameter {name} is a view of other memory, expected its own")
        self._device = device
        self.main = main
        self._side = device.new_stream()
        self._places = _places(live)
        total = sum(_room(value) for value in live.values())
        self._buffer = device.empty((total,), torch.uint8)
        self._chunks = [device.pinned((CHUNK_BYTES,), torch.uint8) for _ in range(2)]
        self._applied: Event | None = None
        """Where the newest exchange is in the runner's work."""

    def stage(self, parameters: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Bring them to the device and wait until all are there; what was staged before is lost."""
        self._wait_for_apply()
        left: list[Event | None] = [None, None]
        number = 0
        staged = {}
        for name, value in parameters.items():
            place = self._buffer[self._places[name] :][: value.nbytes]
            staged[name] = place.view(value.dtype).view(value.shape)
            source = _bytes_of(value)
            for begin in range(0, len(source), CHUNK_BYTES):
                part = source[begin : begin + CHUNK_BYTES]
                before, chunk = left[number % 2], self._chunks[number % 2][: len(part)]
                if before is not None:
                    before.synchronize()
                chunk.copy_(part)
                with self._device.using(self._side):
                    place[begin : begin + len(part)].copy_(chunk, non_blocking=True)
                    left[number % 2] = self._passed()
                number += 1
        for event in left:
            if event is not None:
                event.synchronize()
        return staged

    @torch.no_grad()
    def apply(self, staged: Parameters, live: Parameters) -> None:
        """Put one copy inside the device behind the runner's work so far."""
        with self._device.using(self.main):
            for name, value in staged.items():
                live[name].copy_(value, non_blocking=True)
            self._applied = self._passed()

    def fingerprint(self, live: Parameters) -> str:
        """Read all bytes back in chunks; a step that runs meanwhile is not held up."""
        self._wait_for_apply()
        digest = hashlib.sha256()
        for name in sorted(live):
            value = live[name].detach()
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            source = _bytes_of(value)
            for begin in range(0, len(source), CHUNK_BYTES):
                part = source[begin : begin + CHUNK_BYTES]
                chunk = self._chunks[0][: len(part)]
                with self._device.using(self._side):
                    chunk.copy_(part, non_blocking=True)
                    read = self._passed()
                read.synchronize()
                digest.update(chunk.numpy().data)
        return digest.hexdigest()

    def _wait_for_apply(self) -> None:
        if self._applied is not None:
            self._side.wait_event(self._applied)

    def _passed(self) -> Event:
        event = self._device.new_event(timed=False)
        event.record()
        return event


def _bytes_of(value: torch.Tensor) -> torch.Tensor:
    return value.contiguous().view(-1).view(torch.uint8)


def _room(value: torch.Tensor) -> int:
    return math.ceil(value.nbytes / _ALIGNMENT) * _ALIGNMENT


def _places(live: Parameters) -> Mapping[str, int]:
    """Return where in a buffer each parameter begins."""
    places, end = {}, 0
    for name, value in live.items():
        places[name] = end
        end += _room(value)
    return places
