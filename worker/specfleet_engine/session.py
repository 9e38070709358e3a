"""One engine process in its fleet: observes steps, applies the bank, keeps the rank page.

A thread does what takes time (reading the bank, staging, fingerprints, the page); the steps only
count, copy rows, and exchange staged weights. Nothing here waits for an agent.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from specfleet_common.lineage import Lineage
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.shm.pages import PageWriter
from specfleet_engine.bank_watching import BankWatch
from specfleet_engine.capturing import Capture
from specfleet_engine.capturing import snapshot as captured
from specfleet_engine.costs import Costs
from specfleet_engine.counters import Counters
from specfleet_engine.exchanging import Exchange
from specfleet_engine.proposing import Proposers
from specfleet_engine.step import Scheduled, Verified
from specfleet_engine.swapping import StagedT, Weights

log = logging.getLogger("vllm.specfleet")

POLL_SECONDS = 0.1
PAGE_SECONDS = 0.25
CHECK_SECONDS = 30.0


class Session(Generic[StagedT]):
    """The observer of one model runner. `clock` tells how long steps take."""

    def __init__(
        self,
        *,
        directory: Path,
        layout: Layout,
        lineage: Lineage,
        live: Weights[StagedT],
        capture: Capture | None,
        page: PageWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._layout = layout
        self._lineage = lineage
        self._capture = capture
        self._page = page
        self._clock = clock
        self._incarnation = secrets.token_hex(8)
        self._beats = 0
        self._counters = Counters(layout.num_speculative_tokens)
        self._costs = Costs()
        self._proposers = Proposers()
        self._exchange = Exchange(live, clock=clock)
        self._bank = BankWatch(directory, layout, self._exchange)
        self._began = 0.0
        self._scheduled: Scheduled | None = None
        self._reason = ""

    def start(self) -> None:
        """Start the thread that reads the bank and writes the page; it ends with the process."""
        self._write_page()
        threading.Thread(target=self._run, name="specfleet", daemon=True).start()

    @property
    def drafter(self) -> str:
        """Return the name under which the live weights are counted."""
        return self._exchange.drafter

    # Steps: called by the runner's thread.

    def step_begins(self, scheduled: Scheduled) -> None:
        """Exchange weights that are ready, then hold them still."""
        self._exchange.step_begins()
        self._began = self._clock()
        self._costs.step_begins(scheduled, at=self._began)
        self._scheduled = scheduled if scheduled.request_ids else None
        for request_id in scheduled.finished:
            self._counters.forget(request_id)
            self._proposers.ends(request_id, at=time.monotonic())
        for request in scheduled.new:
            self._proposers.begins(request.id, request.external_id)
        if self._capture is not None:
            self._capture.step_begins(scheduled)

    def verified(self, batch: Verified) -> None:
        """Count what was accepted, and copy the followed rows."""
        self._scheduled = None
        accepted = np.maximum(batch.sampled - 1, 0)
        self._counters.verified(batch.request_ids, batch.drafted, accepted, batch.sampled)
        self._counters.proposed(batch.request_ids, self.drafter)
        self._proposers.proposed(batch.request_ids, self.drafter)
        if self._capture is not None:
            self._capture.verified(batch)
        self._costs.verified(batch, at=self._clock())

    def drafted(self, drafts: NDArray[np.int32]) -> None:
        """Write the step's capture."""
        self._costs.drafted(at=self._clock())
        if self._capture is not None:
            self._capture.drafted(drafts, self.drafter)

    def step_ends(self) -> None:
        """Let weights change again; a step without a draft leaves a gap in its requests."""
        if not self._exchange.in_step:
            return
        if self._scheduled is not None:
            for request_id in self._scheduled.request_ids:
                self._counters.forget(request_id)
            if self._capture is not None:
                self._capture.skipped(self._scheduled.request_ids)
        now = self._clock()
        self._counters.step_ends(self.drafter, now - self._began)
        self._costs.step_ends(at=now)
        self._exchange.step_ends()

    def fail(self, error: Exception) -> None:
        """Stop adapting after a failure in a step; vLLM serves on with the weights it has."""
        log.error("specfleet stops adapting this engine: %s", error, exc_info=error)
        self._reason = f"{type(error).__name__}: {error}"
        if self._exchange.in_step:
            self._exchange.step_ends()

    # The thread.

    def _run(self) -> None:
        checked = written = 0.0
        while True:
            now = time.monotonic()
            try:
                if not self._reason:
                    self._bank.look()
                    self._exchange.apply_while_idle()
                    if not self._exchange.was_compared or now - checked >= CHECK_SECONDS:
                        checked = now
                        self._exchange.compare()
                if now - written >= PAGE_SECONDS:
                    written = now
                    self._write_page()
            except Exception as error:
                log.exception("specfleet stops adapting this engine")
                self._reason = f"{type(error).__name__}: {error}"
            time.sleep(POLL_SECONDS)

    def _write_page(self) -> None:
        self._beats += 1
        self._page.write(self._snapshot())

    def _snapshot(self) -> Mapping[str, object]:
        exchange = self._exchange
        return {
            "incarnation": self._incarnation,
            "beats": self._beats,
            "lineage": asdict(self._lineage),
            "rows": {
                "hidden_size": self._layout.hidden_size,
                "hidden_dtype": self._layout.hidden_dtype,
                "num_speculative_tokens": self._layout.num_speculative_tokens,
            },
            "stock_digest": exchange.live.stock_digest,
            "stock_file": STOCK_FILE,
            "observed": exchange.observed,
            "observed_digest": exchange.observed_digest,
            "bank_sequence": exchange.applied_sequence,
            "swaps": exchange.swaps,
            "swap_apply_seconds": exchange.apply_seconds,
            "mismatches": exchange.mismatches,
            "refused_banks": dict(self._bank.refused),
            "capture": captured(self._capture),
            "drafters": self._counters.snapshot(),
            "costs": self._costs.snapshot(),
            "requests": self._proposers.snapshot(),
            "adapting": not self._reason,
            "reason": self._reason,
        }
