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
from specfleet_engine.accounts import Accounts
from specfleet_engine.capturing import Capture
from specfleet_engine.step import Scheduled, Verified
from specfleet_engine.weights.agreeing import Gate
from specfleet_engine.weights.bank_watching import BankWatch
from specfleet_engine.weights.exchanging import Exchange
from specfleet_engine.weights.swapping import StagedT, Weights

log = logging.getLogger("vllm.specfleet")

POLL_SECONDS = 0.1
PAGE_SECONDS = 0.25
CHECK_SECONDS = 30.0


class Session(Generic[StagedT]):
    """The observer of one model runner, of one of `num_ranks` in the same `engine`.

    `clock` tells how long steps take.
    """

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
        gate: Gate | None = None,
        num_ranks: int = 1,
        engine: str = "",
    ) -> None:
        self.accounts = Accounts(layout.num_speculative_tokens, capture)
        self.exchange = Exchange(live, clock=clock, gate=gate)
        self._layout = layout
        self._lineage = lineage
        self._page = page
        self._clock = clock
        self._num_ranks = num_ranks
        self._engine = engine
        self._incarnation = secrets.token_hex(8)
        self._beats = 0
        self._bank = BankWatch(directory, layout, self.exchange)
        self._reason = ""

    def start(self, while_idle: Callable[[], None] = lambda: None) -> None:
        """Start the thread that reads the bank and writes the page; it ends with the process.

        It calls `while_idle` again and again, at times when no step runs.
        """
        self._write_page()
        thread = threading.Thread(
            target=self._run, args=(while_idle,), name="specfleet", daemon=True
        )
        thread.start()

    @property
    def drafter(self) -> str:
        """Return the name under which the live weights are counted."""
        return self.exchange.drafter

    # Steps: called by the runner's thread.

    def step_begins(self, scheduled: Scheduled) -> None:
        """Exchange weights that are ready, then hold them still."""
        self.exchange.step_begins()
        self.accounts.step_begins(scheduled, at=self._clock())

    def verified(self, batch: Verified) -> None:
        """Count what was accepted, and copy the followed rows."""
        self.accounts.verified(batch, self.drafter, at=self._clock())

    def drafted(self, drafts: NDArray[np.int32]) -> None:
        """Write the step's capture."""
        self.accounts.drafted(drafts, self.drafter, at=self._clock())

    def step_ends(self) -> None:
        """Let weights change again."""
        if not self.exchange.in_step:
            return
        self.accounts.step_ends(self.drafter, at=self._clock())
        self.exchange.step_ends()

    def fail(self, error: Exception) -> None:
        """Stop adapting after a failure in a step; vLLM serves on with the weights it has."""
        log.error("specfleet stops adapting this engine: %s", error, exc_info=error)
        self._reason = f"{type(error).__name__}: {error}"
        if self.exchange.in_step:
            self.exchange.step_ends()

    # The thread.

    def _run(self, while_idle: Callable[[], None]) -> None:
        checked = written = 0.0
        while True:
            now = time.monotonic()
            try:
                if not self._reason:
                    self._bank.look()
                    self.exchange.between_steps(while_idle)
                    if not self.exchange.was_compared or now - checked >= CHECK_SECONDS:
                        checked = now
                        self.exchange.compare()
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
        exchange = self.exchange
        return {
            "incarnation": self._incarnation,
            "beats": self._beats,
            "engine": self._engine,
            "num_ranks": self._num_ranks,
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
            **self.accounts.snapshot(),
            "adapting": not self._reason,
            "reason": self._reason,
        }
