"""Copies of what a drafter is given, on their way from a device to this machine's memory.

A step's rows are copied to a slot on the device in the order of the runner's own work, because the
runner writes into their memory again; from there a side stream brings them into pinned memory. The
runner waits for neither. Slots are few and made at the start; without a free one nothing is copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from specfleet_engine.devices import Device, Event
from specfleet_engine.runners.at_once import as_array
from specfleet_engine.step import Proposal, Verified

MOST_SLOTS = 4
"""A runner may be two steps ahead of its device, and a step's copies take a part of a step more."""
MOST_HIDDEN_BYTES = 64 << 20
"""Of one slot. Rows beyond are of a prompt longer than most, whose request is then not followed."""


@dataclass(frozen=True, slots=True)
class SlotSizes:
    """The most that a step has."""

    requests: int
    rows: int
    hidden_size: int
    hidden_dtype: torch.dtype
    num_speculative_tokens: int

    @property
    def copied_rows(self) -> int:
        """Return how many rows a slot has room for."""
        return min(self.rows, MOST_HIDDEN_BYTES // (self.hidden_size * self.hidden_dtype.itemsize))

    @property
    def numbers(self) -> int:
        """Return how many whole numbers a slot has room for."""
        return self.requests * (2 + self.num_speculative_tokens) + 2 * self.copied_rows


class Slot:
    """Memory for one step: on the device, and the same in this machine."""

    def __init__(self, sizes: SlotSizes, device: Device) -> None:
        hidden = (sizes.copied_rows, sizes.hidden_size)
        self.hidden = device.empty(hidden, sizes.hidden_dtype)
        self.numbers = device.empty((sizes.numbers,), torch.int64)
        self.index = device.empty((sizes.copied_rows,), torch.int64)
        self.host_hidden = device.pinned(hidden, sizes.hidden_dtype)
        self.host_numbers = device.pinned((sizes.numbers,), torch.int64)
        self.host_index = device.pinned((sizes.copied_rows,), torch.int64)


class Copies:
    """The slots of one runner, and the side stream that empties them."""

    def __init__(self, sizes: SlotSizes, device: Device) -> None:
        self.copied_rows = sizes.copied_rows
        self._device = device
        self._side = device.new_stream()
        self._free = deque(Slot(sizes, device) for _ in range(MOST_SLOTS))

    def take(self, proposal: Proposal, places: Sequence[int]) -> Copy | None:
        """Copy the rows of the requests at `places`, and a few numbers of all requests.

        The rows are no more than `copied_rows`. None when no slot is free.
        """
        if not self._free:
            return None
        return Copy(self._free.popleft(), proposal, places)

    def send(self, copy: Copy, drafts: torch.Tensor) -> None:
        """Add the drafts, and let the side stream bring everything here."""
        copy.add(drafts)
        there = self._device.new_event(timed=False)
        there.record()
        self._side.wait_event(there)
        with self._device.using(self._side):
            copy.bring()
            copy.here = self._device.new_event(timed=False)
            copy.here.record()

    def give_back(self, copy: Copy) -> None:
        """Take the slot of a copy that nobody reads any more."""
        self._free.append(copy.slot)


class Copy:
    """One step in a slot."""

    def __init__(self, slot: Slot, proposal: Proposal, places: Sequence[int]) -> None:
        self.slot = slot
        self.here: Event | None = None
        """Set once everything is sent; what is read before it has passed is not this step's."""
        self._batch = proposal.batch
        self._requests = len(self._batch.request_ids)
        self._places = list(places)
        self._depths = 0
        self._numbers = 0
        starts = self._batch.starts
        index = [np.arange(starts[place], starts[place + 1]) for place in places]
        self._rows = sum(map(len, index))
        if index:
            np.concatenate(index, out=slot.host_index[: self._rows].numpy())
        slot.index[: self._rows].copy_(slot.host_index[: self._rows], non_blocking=True)
        chosen = slot.index[: self._rows]
        torch.index_select(proposal.hidden, 0, chosen, out=slot.hidden[: self._rows])
        if proposal.rejected is None:
            slot.numbers[: self._requests].zero_()
            self._numbers = self._requests
        else:
            self._put(proposal.rejected)
        self._put(proposal.next_tokens)
        self._put(proposal.tokens.index_select(0, chosen))
        self._put(proposal.positions.index_select(0, chosen))

    @property
    def is_here(self) -> bool:
        """Say whether everything can be read."""
        return self.here is not None and self.here.query()

    def add(self, drafts: torch.Tensor) -> None:
        """Copy the drafts to the slot."""
        self._depths = drafts.shape[1]
        self._put(drafts.reshape(-1))

    def bring(self) -> None:
        """Copy the slot to this machine's memory."""
        slot, rows, numbers = self.slot, self._rows, self._numbers
        slot.host_hidden[:rows].copy_(slot.hidden[:rows], non_blocking=True)
        slot.host_numbers[:numbers].copy_(slot.numbers[:numbers], non_blocking=True)

    def read(self) -> tuple[Verified, NDArray[np.int32]]:
        """Return the step and its drafts; only the rows of the chosen requests are in it."""
        requests, rows, known = self._requests, self._rows, self._batch
        ends = np.cumsum([requests, requests, rows, rows])
        numbers = self.slot.host_numbers[: self._numbers].numpy()
        rejected, next_tokens, tokens, positions, drafts = np.split(numbers, ends)
        first = np.zeros(requests, np.int64)
        counts = np.diff(known.starts)[self._places]
        first[self._places] = np.cumsum([0, *counts])[:-1]
        last = np.zeros(requests, np.int64)
        last[self._places] = first[self._places] + counts - 1 - rejected[self._places]
        batch = Verified(
            request_ids=known.request_ids,
            first=first,
            last=last,
            drafted=known.drafted,
            sampled=known.sampled(rejected),
            tokens=tokens.astype(np.int32),
            positions=positions,
            next_tokens=next_tokens.astype(np.int32),
            hidden=as_array(self.slot.host_hidden[:rows]),
        )
        return batch, drafts.astype(np.int32).reshape(requests, self._depths)

    def _put(self, values: torch.Tensor) -> None:
        end = self._numbers + len(values)
        self.slot.numbers[self._numbers : end].copy_(values)
        self._numbers = end
