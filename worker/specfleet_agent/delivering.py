"""Keep the bank filled with what `delivery` wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from specfleet_agent.bank import Bank, BankError
from specfleet_agent.delivery import Wanted, Weights, is_due, wanted
from specfleet_agent.engine_page import EnginePage
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Situation, Worker
from specfleet_agent.switchback import running
from specfleet_agent.volume import Volume
from specfleet_common.lineage import STOCK, short
from specfleet_common.tensors import TensorError

log = structlog.get_logger()

POLL_SECONDS = 0.25


class Delivery:
    """Publishes weights to the engine when they change."""

    def __init__(
        self,
        worker: Worker,
        volume: Volume,
        observer: Observer,
        bank: Bank,
        instruments: Instruments,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._worker = worker
        self._volume = volume
        self._observer = observer
        self._bank = bank
        self._instruments = instruments
        self._clock = clock
        self._reason = ""

    async def deliver(self) -> float:
        """Bring the bank up to date; return the pause before the next look."""
        seen = await self._observer.look()
        now = self._clock()
        want = wanted(self._worker, seen, now=now)
        if seen.page is None or want.weights is None:
            self._say(want.reason)
        else:
            await asyncio.to_thread(self._publish_if_due, seen.page, want.weights, want)
        return self._pause_seconds(seen, looked_at=now)

    def _pause_seconds(self, seen: Situation, *, looked_at: float) -> float:
        """Return the time to the next look, which is due at the end of the block looked at."""
        comparison = running(self._worker, seen, now=looked_at)
        if comparison is None:
            return POLL_SECONDS
        border = looked_at + comparison.seconds_to_border(looked_at)
        return min(POLL_SECONDS, max(0.0, border - self._clock()))

    def _publish_if_due(self, page: EnginePage, weights: Weights, want: Wanted) -> None:
        if not is_due(weights, page, bank_digest=self._bank.digest(page)):
            self._say(want.reason)
            return
        source = self._source(weights)
        try:
            self._bank.publish(page, source, digest=weights.digest, label=weights.label)
        except FileNotFoundError:
            self._say(f"{source.name} is not there")
            return
        except (BankError, TensorError) as error:
            self._say(f"{source.name} is not delivered: {error}")
            return
        self._instruments.bank_publications.labels(label=weights.label).inc()
        log.info("delivered", label=weights.label, digest=short(weights.digest), reason=want.reason)

    def _source(self, weights: Weights) -> Path:
        directory = self._volume.shared if weights.label == STOCK else self._volume.state
        return directory / weights.file

    def _say(self, reason: str) -> None:
        if reason != self._reason:
            self._reason = reason
            log.info("delivery", reason=reason)
