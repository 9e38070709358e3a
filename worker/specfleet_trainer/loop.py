"""The trainer's loop: read orders and captured requests, do the next thing, report.

Nothing here waits for another process: without orders, engine or data it looks again later.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import structlog
import torch

from specfleet_common import exchange
from specfleet_common.exchange import Orders, TrainerReport
from specfleet_common.shm.names import RING_FILE
from specfleet_trainer.contest import may_walk
from specfleet_trainer.joining import Joiner
from specfleet_trainer.memory import keep_freed_memory
from specfleet_trainer.progress import Action, Next, Progress, next_action
from specfleet_trainer.rate import Rate
from specfleet_trainer.session import Session, VersionAbsent
from specfleet_trainer.settings import Settings
from specfleet_trainer.source import Source

log = structlog.get_logger()

# A step comes after so many records at the latest; far more than an engine writes meanwhile.
RECORDS_PER_TURN = 512
# The agent takes a trainer whose report stays the same for one that hangs.
REPORT_SECONDS = 1.0
RATE_SECONDS = 30.0
# Weight of the newest step in the reported loss.
LOSS_SMOOTHING = 0.1


class Trainer:
    """One turn after the other; `clock` gives seconds that never go back."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._source = Source(
            settings.shm_directory / RING_FILE,
            new_joiner=lambda: Joiner(
                max_rows=settings.max_sequence_rows, max_open_rows=settings.max_open_rows
            ),
        )
        self._session: Session | None = None
        self._orders: Orders | None = None
        self._rate = Rate(window_seconds=RATE_SECONDS, now=clock())
        self._loss: tuple[float, ...] = ()
        self._requests = 0
        self._walked = False
        self._reported: tuple[str, int, str, str] | None = None
        self._reported_at = clock()

    def turn(self) -> bool:
        """Do the next thing; say whether there was anything to do."""
        orders = exchange.read_message(self._settings.state_directory / exchange.ORDERS, Orders)
        session = None if orders is None else self._session_for(orders)
        if orders is None or session is None:
            self._report("waiting")
            return False
        todo = next_action(orders, session.progress, has_data=session.has_data)
        acted = self._walk(todo, session)
        if not acted and todo.action is not Action.WAIT:
            acted = self._act(todo, session, orders)
        self._report(todo.phase)
        return acted

    def _session_for(self, orders: Orders) -> Session | None:
        """Return the session of the orders' lineage, with all that the engine has captured.

        None while no engine of this lineage has been there: it says which head it runs.
        """
        layout = self._source.layout()
        if layout is not None and layout.lineage_id == orders.lineage_id:
            if self._session is None or self._session.layout != layout:
                self._session = Session(self._settings, layout, orders, clock=self._clock)
            for sequence in self._source.drain(RECORDS_PER_TURN):
                self._session.take(sequence)
                self._requests += 1
        if self._session is None or self._session.layout.lineage_id != orders.lineage_id:
            return None
        if orders != self._orders:
            self._session.follow(orders)
            self._orders = orders
        return self._session

    def _walk(self, todo: Next, session: Session) -> bool:
        """Walk one held-out request for a promotion, if one waits and it is its turn."""
        self._walked = may_walk(todo.action, walked_last=self._walked) and session.walk(
            lambda: self._report(todo.phase)
        )
        return self._walked

    def _act(self, todo: Next, session: Session, orders: Orders) -> bool:
        """Do it; False where the version is gone, because newer orders are about to be read."""
        try:
            if todo.action is Action.BEGIN:
                session.begin(orders)
            elif todo.action is Action.DELIVER:
                session.deliver(orders)
                self._report(todo.phase)
                session.score(orders, lambda: self._report(todo.phase))
            else:
                result = session.train(orders)
                if not result.is_skipped:
                    self._rate.add(result.positions, now=self._clock())
                self._loss = smoothed(self._loss, result.losses)
        except VersionAbsent as absent:
            log.warning("version_absent", reason=str(absent))
            return False
        return True

    def _report(self, phase: str) -> None:
        """Write the report when something that others act on has changed, or a second later."""
        session, now = self._session, self._clock()
        progress = None if session is None else session.progress
        if progress is None:
            progress = Progress(lineage_id="", round=0, version=0, digest="")
        notable = (phase, progress.round, progress.delta_digest, progress.local_digest)
        if notable == self._reported and now < self._reported_at + REPORT_SECONDS:
            return
        self._reported, self._reported_at = notable, now
        report = TrainerReport(
            pid=os.getpid(),
            phase=phase,
            lineage_id=progress.lineage_id,
            round=progress.round,
            version=progress.version,
            local_steps=progress.local_steps,
            total_steps=progress.total_steps,
            positions=progress.positions,
            positions_per_second=self._rate.per_second(now=now),
            loss=self._loss,
            requests=self._requests,
            local_digest=progress.local_digest,
            delta_round=progress.round if progress.delta_digest else 0,
            delta_digest=progress.delta_digest,
            delta_codec=progress.delta_codec,
            delta_positions=progress.delta_positions,
            attempt=progress.attempt,
        )
        exchange.write_message(self._settings.state_directory / exchange.REPORT, report)


def smoothed(before: tuple[float, ...], newest: tuple[float, ...]) -> tuple[float, ...]:
    """Return the exponential mean of each depth's loss; it starts anew with other depths.

    Losses that are not finite are left out: the mean would keep them for ever.
    """
    if not all(map(math.isfinite, newest)):
        return before
    if len(before) != len(newest):
        return newest
    return tuple(b + LOSS_SMOOTHING * (n - b) for b, n in zip(before, newest, strict=True))


def run(settings: Settings) -> int:
    """Train until SIGTERM or SIGINT; the step that is being made is finished and kept."""
    keep_freed_memory()
    torch.set_num_threads(settings.threads)
    torch.set_num_interop_threads(1)
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    log.info("trainer_started", model=str(settings.model), threads=settings.threads)
    trainer = Trainer(settings, clock=time.monotonic)
    while not stop.is_set():
        if not trainer.turn():
            stop.wait(settings.poll_seconds)
    log.info("trainer_stopped")
    return 0
