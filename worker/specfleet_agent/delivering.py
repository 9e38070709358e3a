"""Keep the bank filled with what `delivery` wants."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from specfleet_agent.bank import Bank, BankError
from specfleet_agent.delivery import Wanted, Weights, is_due, wanted
from specfleet_agent.engine_page import EnginePage
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Worker
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
    ) -> None:
        self._worker = worker
        self._volume = volume
        self._observer = observer
        self._bank = bank
        self._instruments = instruments
        self._reason = ""

    async def deliver(self) -> float:
        """Bring the bank up to date; return the pause before the next look."""
        seen = await self._observer.look()
        want = wanted(self._worker, seen)
        if seen.page is None or want.weights is None:
            self._say(want.reason)
            return POLL_SECONDS
        await asyncio.to_thread(self._publish_if_due, seen.page, want.weights, want)
        return POLL_SECONDS

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
