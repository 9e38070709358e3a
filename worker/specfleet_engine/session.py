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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from specfleet_common.lineage import LOCAL, MISMATCH, STOCK, Lineage
from specfleet_common.shm.bank import BankEntry, BankReader
from specfleet_common.shm.layout import Layout, ShmAbsent, ShmMismatch
from specfleet_common.shm.names import BANK_FILE, STOCK_FILE
from specfleet_common.shm.pages import PageWriter
from specfleet_common.tensors import TensorError
from specfleet_engine.capturing import Capture
from specfleet_engine.capturing import snapshot as captured
from specfleet_engine.counters import Counters
from specfleet_engine.layouts import LayoutError
from specfleet_engine.proposing import Proposers
from specfleet_engine.step import Scheduled, Verified
from specfleet_engine.swapping import StagedT, Weights

log = logging.getLogger("vllm.specfleet")

POLL_SECONDS = 0.1
PAGE_SECONDS = 0.25
CHECK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Ready(Generic[StagedT]):
    """Weights that may go live, the name their counters get, and their place in the bank."""

    staged: StagedT
    name: str
    sequence: int


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
        self._directory = directory
        self._layout = layout
        self._lineage = lineage
        self._live = live
        self._capture = capture
        self._page = page
        self._clock = clock
        self._incarnation = secrets.token_hex(8)
        self._beats = 0
        self._counters = Counters(layout.num_speculative_tokens)
        self._proposers = Proposers()
        self._weights = threading.Lock()
        """Held during a step, and while weights are exchanged outside one."""
        self._in_step = False
        self._began = 0.0
        self._scheduled: Scheduled | None = None
        self._staged: _Ready[StagedT] | None = None
        self._applying = False
        self._drafter = STOCK
        self._swaps = 0
        self._compared_swaps = 0
        self._mismatch = False
        self._bank: BankReader | None = None
        self._read_sequence = self._applied_sequence = 0
        self._wanted: str | None = None
        """Digest of the bank's newest entry, None when there is none that can be applied."""
        self._refused: dict[str, int] = {}
        self._refused_bank: int | None = None
        self._reason = ""

    def start(self) -> None:
        """Start the thread that reads the bank and writes the page; it ends with the process."""
        self._write_page()
        threading.Thread(target=self._run, name="specfleet", daemon=True).start()

    @property
    def drafter(self) -> str:
        """Return the name under which the live weights are counted."""
        return self._drafter

    # Steps: called by the runner's thread.

    def step_begins(self, scheduled: Scheduled) -> None:
        """Exchange weights that are ready, then hold them still."""
        self._weights.acquire()
        self._in_step = True
        self._began = self._clock()
        self._apply_staged()
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
        self._counters.proposed(batch.request_ids, self._drafter)
        self._proposers.proposed(batch.request_ids, self._drafter)
        if self._capture is not None:
            self._capture.verified(batch)

    def drafted(self, drafts: NDArray[np.int32]) -> None:
        """Write the step's capture."""
        if self._capture is not None:
            self._capture.drafted(drafts, self._drafter)

    def step_ends(self) -> None:
        """Let weights change again; a step without a draft leaves a gap in its requests."""
        if not self._in_step:
            return
        if self._scheduled is not None:
            for request_id in self._scheduled.request_ids:
                self._counters.forget(request_id)
            if self._capture is not None:
                self._capture.skipped(self._scheduled.request_ids)
        self._counters.step_ends(self._drafter, self._clock() - self._began)
        self._in_step = False
        self._weights.release()

    def fail(self, error: Exception) -> None:
        """Stop adapting after a failure in a step; vLLM serves on with the weights it has."""
        log.error("specfleet stops adapting this engine: %s", error, exc_info=error)
        self._reason = f"{type(error).__name__}: {error}"
        if self._in_step:
            self._in_step = False
            self._weights.release()

    # The thread.

    def _run(self) -> None:
        checked = written = 0.0
        while True:
            now = time.monotonic()
            try:
                if not self._reason:
                    self._read_bank()
                    self._apply_while_idle()
                    if self._swaps != self._compared_swaps or now - checked >= CHECK_SECONDS:
                        checked = now
                        self._compare()
                if now - written >= PAGE_SECONDS:
                    written = now
                    self._write_page()
            except Exception as error:
                log.exception("specfleet stops adapting this engine")
                self._reason = f"{type(error).__name__}: {error}"
            time.sleep(POLL_SECONDS)

    def _read_bank(self) -> None:
        """Stage the newest entry of the bank, once, and again when it did not come to be live."""
        if self._bank is None or self._bank.is_replaced():
            self._bank = self._attach_bank()
            self._read_sequence, self._wanted = 0, None
            if self._bank is None:
                return
        sequence = self._bank.sequence()
        if self._applying or (sequence == self._read_sequence and not self._is_astray()):
            return
        entry = self._bank.read()
        if entry is None:
            if self._bank.sequence() == sequence:
                self._read_sequence, self._wanted = sequence, None
                self._refuse("torn", ValueError(f"entry {sequence} of the bank is damaged"))
            return
        self._read_sequence, self._wanted = entry.sequence, entry.digest
        if entry.digest == self._live.digest:
            self._staged, self._applied_sequence = None, entry.sequence
            return
        self._stage(entry)

    def _is_astray(self) -> bool:
        """Say whether the newest entry is neither live nor about to be."""
        return self._wanted not in (None, self._live.digest) and self._staged is None

    def _attach_bank(self) -> BankReader | None:
        path = self._directory / BANK_FILE
        try:
            inode = path.stat().st_ino
            if inode == self._refused_bank:
                return None
            bank = BankReader.attach(path)
        except (FileNotFoundError, ShmAbsent):
            return None
        except ShmMismatch as error:
            self._refused_bank = inode
            self._refuse("format", error)
            return None
        if bank.layout != self._layout:
            self._refused_bank = inode
            self._refuse("layout", LayoutError(f"{path}: {bank.layout}, expected {self._layout}"))
            return None
        return bank

    def _stage(self, entry: BankEntry) -> None:
        try:
            staged = self._live.stage(entry.data, entry.digest)
        except (LayoutError, TensorError, SafetensorError) as error:
            self._wanted = None
            self._refuse("weights", error)
            return
        is_stock = entry.digest == self._live.stock_digest
        name = STOCK if is_stock else LOCAL if entry.label == LOCAL else entry.digest
        self._staged = _Ready(staged, name, entry.sequence)

    def _refuse(self, kind: str, error: Exception) -> None:
        if kind not in self._refused:
            log.error("specfleet refuses the bank: %s", error)
        self._refused[kind] = self._refused.get(kind, 0) + 1

    def _apply_while_idle(self) -> None:
        """Apply at once when no step runs, so that an idle engine follows the fleet too."""
        if self._staged is not None and self._weights.acquire(blocking=False):
            try:
                self._apply_staged()
            finally:
                self._weights.release()

    def _apply_staged(self) -> None:
        """Exchange the weights; the lock is held."""
        ready, self._staged = self._staged, None
        if ready is None:
            return
        self._applying = True
        self._live.apply(ready.staged)
        self._drafter, self._applied_sequence = ready.name, ready.sequence
        self._swaps += 1
        self._applying = False

    def _compare(self) -> None:
        """Fingerprint the live storage; a swap meanwhile makes the answer void."""
        swaps = self._swaps
        matches = self._live.holds_what_it_should()
        if swaps != self._swaps or self._applying:
            return
        self._compared_swaps = swaps
        self._mismatch = not matches
        if self._mismatch:
            log.error("specfleet: the live drafter is not what was applied")

    def _write_page(self) -> None:
        self._beats += 1
        self._page.write(self._snapshot())

    def _snapshot(self) -> Mapping[str, object]:
        return {
            "incarnation": self._incarnation,
            "beats": self._beats,
            "lineage": asdict(self._lineage),
            "rows": {
                "hidden_size": self._layout.hidden_size,
                "hidden_dtype": self._layout.hidden_dtype,
                "num_speculative_tokens": self._layout.num_speculative_tokens,
            },
            "stock_digest": self._live.stock_digest,
            "stock_file": STOCK_FILE,
            "observed": MISMATCH if self._mismatch else self._drafter,
            "observed_digest": MISMATCH if self._mismatch else self._live.digest,
            "bank_sequence": self._applied_sequence,
            "swaps": self._swaps,
            "refused_banks": dict(self._refused),
            "capture": captured(self._capture),
            "drafters": self._counters.snapshot(),
            "requests": self._proposers.snapshot(),
            "adapting": not self._reason,
            "reason": self._reason,
        }
