"""Which weights are live, which are next, and whether the live ones are what was applied.

Weights change between two steps only, or while none runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from specfleet_common.lineage import MISMATCH, STOCK
from specfleet_engine.weights.agreeing import Gate, OpenGate
from specfleet_engine.weights.swapping import StagedT, Weights

log = logging.getLogger("vllm.specfleet")


@dataclass(frozen=True, slots=True)
class Ready(Generic[StagedT]):
    """Weights that may go live, the name their counters get, and their place in the bank."""

    staged: StagedT
    name: str
    sequence: int


class Exchange(Generic[StagedT]):
    """The live weights of one drafter; steps and the thread that reads the bank share it.

    `clock` tells how long the weights' exchange takes.
    """

    def __init__(
        self, live: Weights[StagedT], *, clock: Callable[[], float], gate: Gate | None = None
    ) -> None:
        self.live = live
        self.drafter = STOCK
        """The name under which the live weights are counted."""
        self.swaps = 0
        self.apply_seconds: float | None = None
        """How long the newest swap took, None before the first."""
        self.mismatches = 0
        """How often the live weights turned out not to be what was applied."""
        self.applied_sequence = 0
        """Place in the bank of what is live."""
        self._clock = clock
        self._gate = gate or OpenGate()
        self._steps = 0
        self._ended_at = time.monotonic()
        """When the last step ended."""
        self._held = threading.Lock()
        """Held during a step, and while weights are exchanged outside one."""
        self._choosing = threading.Lock()
        """Held for the moment in which what waits becomes what is written, or is taken back."""
        self.in_step = False
        self._next: Ready[StagedT] | None = None
        self._withdrawn: Ready[StagedT] | None = None
        self._applying = False
        self._compared_swaps = 0
        self._mismatch = False

    @property
    def is_settled(self) -> bool:
        """Return whether no weights are on their way into the engine."""
        return self._next is None and not self._applying

    @property
    def is_applying(self) -> bool:
        """Return whether weights are written at this moment."""
        return self._applying

    @property
    def was_compared(self) -> bool:
        """Return whether the live weights were looked at since the last swap."""
        return self.swaps == self._compared_swaps

    @property
    def observed(self) -> str:
        """Return the name of what is live, `mismatch` if that is not what was applied."""
        return MISMATCH if self._mismatch else self.drafter

    @property
    def observed_digest(self) -> str:
        """Return the digest of what is live, `mismatch` if that is not what was applied."""
        return MISMATCH if self._mismatch else self.live.digest

    def step_begins(self) -> None:
        """Exchange weights that are ready, then hold them still until `step_ends`."""
        self._held.acquire()
        self.in_step = True
        self._steps += 1
        self._apply(idle_seconds=0.0)

    def step_ends(self) -> None:
        """Let weights change again."""
        self.in_step = False
        self._ended_at = time.monotonic()
        self._held.release()

    def offer(self, ready: Ready[StagedT]) -> None:
        """Have these weights go live with the next step, in place of others that wait for it."""
        self._next = ready
        self._gate.waits(ready.sequence)

    def keep(self, sequence: int) -> None:
        """Leave what is live as it is: it is what the bank has at this place."""
        self._next, self.applied_sequence = None, sequence

    def withdraw(self) -> bool:
        """Take back what waits for the next step; False when other ranks count on it."""
        with self._choosing:
            waiting, self._next = self._next, None
        self._gate.waits(None)
        if waiting is not None and self._gate.is_promised(waiting.sequence):
            self.offer(waiting)
            return False
        self._withdrawn = waiting
        return True

    def restore(self) -> None:
        """Offer again what was taken back last: there is nothing to put in its place."""
        if self._withdrawn is not None:
            self.offer(self._withdrawn)

    def between_steps(self, action: Callable[[], None]) -> None:
        """Apply what is ready and do `action`, if no step runs: an idle engine keeps up too."""
        if not self._held.acquire(blocking=False):
            return
        try:
            self._apply(idle_seconds=time.monotonic() - self._ended_at)
            action()
        finally:
            self._held.release()

    def compare(self) -> None:
        """Fingerprint the live storage; a swap meanwhile makes the answer void."""
        swaps = self.swaps
        matches = self.live.holds_what_it_should()
        if swaps != self.swaps or self._applying:
            return
        self._compared_swaps = swaps
        self.mismatches += not matches and not self._mismatch
        self._mismatch = not matches
        if self._mismatch:
            log.error("specfleet: the live drafter is not what was applied")

    def _apply(self, *, idle_seconds: float) -> None:
        """Exchange the weights; they are held."""
        with self._choosing:
            ready = self._next
            if ready is None or not self._gate.opens(
                ready.sequence, step=self._steps, idle_seconds=idle_seconds
            ):
                return
            self._next, self._applying = None, True
        began = self._clock()
        self.live.apply(ready.staged)
        self.apply_seconds = self._clock() - began
        self.drafter, self.applied_sequence = ready.name, ready.sequence
        self.swaps += 1
        self._applying = False
