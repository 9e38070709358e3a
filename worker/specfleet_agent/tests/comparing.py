"""Both sides of an agent in a comparison: an aggregator that names it, an engine that follows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc

from specfleet_agent.tests.builders import drafter_content, page_content, start_engine
from specfleet_agent.tests.promoting import finished_content
from specfleet_common.shm.bank import BankReader
from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageWriter
from specfleet_common.wire import codec
from specfleet_common.wire.messages import Evidence, EvidenceReply, HeartbeatReply
from specfleet_common.wire.v1 import specfleet_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["Aggregator"].full_name
STEP_SECONDS = 0.02
PAGE_STEPS = 5
REQUEST_STEPS = 10


@dataclass
class ComparingAggregator:
    """Answers every heartbeat alike, but for the time that its comparison has lasted."""

    reply: HeartbeatReply
    began: float = field(default_factory=time.monotonic)
    answers: bool = True
    evidence: list[Evidence] = field(default_factory=list)

    def _heartbeat(
        self, request: pb.HeartbeatRequest, context: grpc.ServicerContext
    ) -> pb.HeartbeatReply:
        self._fail_if_told(context)
        codec.decode_heartbeat(request)
        reply = self.reply
        if reply.comparison is not None:
            lasted = replace(reply.comparison, elapsed_seconds=time.monotonic() - self.began)
            reply = replace(reply, comparison=lasted)
        return codec.encode_reply(reply)

    def _put_evidence(
        self, request: pb.PutEvidenceRequest, context: grpc.ServicerContext
    ) -> pb.PutEvidenceReply:
        self._fail_if_told(context)
        self.evidence.append(codec.decode_evidence(request))
        return codec.encode_evidence_reply(EvidenceReply(wanted=True, reason=""))

    def _fail_if_told(self, context: grpc.ServicerContext) -> None:
        if not self.answers:
            context.abort(grpc.StatusCode.UNAVAILABLE, "it is told to be silent")

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Listen on a free port, and return the address."""
        handlers = {
            "Heartbeat": grpc.unary_unary_rpc_method_handler(
                self._heartbeat,
                pb.HeartbeatRequest.FromString,
                pb.HeartbeatReply.SerializeToString,
            ),
            "PutEvidence": grpc.unary_unary_rpc_method_handler(
                self._put_evidence,
                pb.PutEvidenceRequest.FromString,
                pb.PutEvidenceReply.SerializeToString,
            ),
        }
        server = grpc.server(ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(grace=None).wait()


class FollowingEngine:
    """An engine that is always busy with one request, and runs what its bank holds."""

    def __init__(self, shared: Path) -> None:
        self.swapped: list[tuple[float, str]] = []
        """When it found other weights in its bank, and which."""
        self._shared = shared
        self._page = start_engine(shared)
        self._frontend = PageWriter.create(shared / FRONTEND_PAGE_FILE)
        self._live = "stock"
        self._steps: dict[str, int] = {}
        self._named: list[dict[str, Any]] = []
        self._finished: list[dict[str, Any]] = []
        self._drafters: set[str] = set()
        self._bank_sequence = 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve until the end of the block."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: threading.Event) -> None:
        step = 0
        while not stop.wait(STEP_SECONDS):
            step += 1
            self._follow_bank()
            self._steps[self._live] = self._steps.get(self._live, 0) + 1
            self._drafters.add(self._live)
            if step % REQUEST_STEPS == 0:
                self._finish(step)
            if step % PAGE_STEPS == 0:
                self._write(step)

    def _follow_bank(self) -> None:
        path = self._shared / "weights.bank"
        if not path.exists():
            return
        bank = BankReader.attach(path)
        if bank.sequence() == self._bank_sequence:
            return
        entry = bank.read()
        if entry is not None:
            self._bank_sequence = entry.sequence
            self._live = "stock" if entry.label == "stock" else entry.digest
            self.swapped.append((time.monotonic(), self._live))

    def _finish(self, step: int) -> None:
        ended, name = time.monotonic(), f"request-{step}"
        started = ended - REQUEST_STEPS * STEP_SECONDS
        self._named.append({"request": name, "ended": ended, "digests": sorted(self._drafters)})
        self._finished.append(finished_content(name, started=started, ended=ended))
        self._drafters = set()

    def _write(self, step: int) -> None:
        self._page.write(
            page_content(
                observed=self._live,
                beats=step,
                swaps=len(self.swapped),
                bank_sequence=self._bank_sequence,
                drafters=tuple(
                    drafter_content(name, bands={1: (steps, 2 * steps, steps * STEP_SECONDS)})
                    for name, steps in self._steps.items()
                ),
                requests=tuple(self._named[-32:]),
            )
        )
        self._frontend.write({"requests": self._finished[-32:]})
