"""Steps of a runner whose tensors lie on a device: told to the session when they have come from it.

Nothing here waits for the device. What a step needs is put into the order of the runner's own work:
the exchange of weights, copies of the rows, marks of time. Looks for what has arrived are taken at
the beginning of later steps, and by the session's thread while no step runs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from specfleet_engine.devices import Device, Event
from specfleet_engine.runners.slots import Copies, Copy
from specfleet_engine.session import Session
from specfleet_engine.step import Batch, Proposal, Scheduled
from specfleet_engine.weights.movers import DeviceMover


class DeviceClock:
    """Seconds on a device, from the first event it is asked about."""

    def __init__(self) -> None:
        self._last: Event | None = None
        self._seconds = 0.0

    def at(self, event: Event) -> float:
        """Return when the device came to `event`, which is later than the last and has passed.

        It adds up short distances: one that spans hours would be off by a good part of a step.
        """
        if self._last is not None:
            self._seconds += self._last.elapsed_time(event) / 1e3
        self._last = event
        return self._seconds


@dataclass(slots=True)
class _Late:
    """A step on its way through the device."""

    scheduled: Scheduled
    drafter: str
    marks: list[Event]
    """Where it begins, then, if it drafts, around the draft, and where it ends."""
    copy: Copy | None = None
    lost: list[str] = field(default_factory=list)
    """Followed requests for whose rows there was no room."""

    @property
    def has_arrived(self) -> bool:
        return self.marks[-1].query() and (self.copy is None or self.copy.is_here)


class LateSteps:
    """A `RunnerObserver` that tells a session's accounts of steps in their order, later."""

    def __init__(
        self, session: Session[Any], copies: Copies, mover: DeviceMover, device: Device
    ) -> None:
        self._session = session
        self._copies = copies
        self._mover = mover
        self._device = device
        self._clock = DeviceClock()
        self._open: _Late | None = None
        self._under_way: deque[_Late] = deque()

    def step_begins(self, scheduled: Scheduled) -> None:
        """Exchange weights that are ready, and tell of the steps that have arrived."""
        self._mover.main = self._device.current_stream()
        self._session.exchange.step_begins()
        self.tell()
        self._open = _Late(scheduled, self._session.drafter, [self._mark()])

    def verified(self, proposal: Proposal) -> None:
        """Copy the rows that may be followed."""
        step = self._step
        step.marks.append(self._mark())
        places, step.lost = self._chosen(proposal.batch)
        step.copy = self._copies.take(proposal, places)

    def drafted(self, drafts: torch.Tensor) -> None:
        """Copy the drafts, and let everything come."""
        step = self._step
        step.marks.append(self._mark())
        if step.copy is not None:
            self._copies.send(step.copy, drafts)

    def step_ends(self) -> None:
        """Let weights change again."""
        step, self._open = self._open, None
        if step is None:
            return
        step.marks.append(self._mark())
        self._under_way.append(step)
        self._session.exchange.step_ends()

    @property
    def wants_plain(self) -> bool:
        """Ask the session, which may learn of such a step only after another one or two."""
        return self._session.accounts.wants_plain

    def fail(self, error: Exception) -> None:
        """Stop adapting."""
        self._open = None
        self._session.fail(error)

    def tell(self) -> None:
        """Tell the session's accounts of the steps that have arrived; no step may run meanwhile."""
        while self._under_way and self._under_way[0].has_arrived:
            self._tell(self._under_way.popleft())

    @property
    def _step(self) -> _Late:
        assert self._open is not None, "the drafter ran outside of a step"
        return self._open

    def _mark(self) -> Event:
        event = self._device.new_event(timed=True)
        event.record()
        return event

    def _chosen(self, batch: Batch) -> tuple[list[int], list[str]]:
        """Return the places of requests to copy, and those for which there is no room.

        Which of the new ones are followed is not known before the steps they came with are told.
        """
        steps = [*self._under_way, self._step]
        new = {request.id for step in steps for request in step.scheduled.new}
        counts = (batch.starts[1:] - batch.starts[:-1]).tolist()
        places, lost, rows = [], [], 0
        for place, request_id in enumerate(batch.request_ids):
            if request_id not in new and not self._session.accounts.follows(request_id):
                continue
            if rows + counts[place] > self._copies.copied_rows:
                lost.append(request_id)
                continue
            places.append(place)
            rows += counts[place]
        return places, lost

    def _tell(self, step: _Late) -> None:
        accounts, drafter = self._session.accounts, step.drafter
        times = [self._clock.at(mark) for mark in step.marks]
        accounts.step_begins(step.scheduled, at=times[0])
        if accounts.capture is not None:
            accounts.capture.lost(step.lost)
        if step.copy is not None:
            batch, drafts = step.copy.read()
            accounts.verified(batch, drafter, at=times[1])
            accounts.drafted(drafts, drafter, at=times[2])
            self._copies.give_back(step.copy)
        accounts.step_ends(drafter, at=times[-1])
