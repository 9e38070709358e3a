"""An agent's link to an aggregator that answers what a test tells it to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.link import Link
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Worker
from specfleet_agent.tests.builders import (
    answer,
    orders,
    report,
    version,
    weights,
)
from specfleet_agent.volume import Volume
from specfleet_common.exchange import ORDERS, REPORT, write_message
from specfleet_common.lineage import Lineage
from specfleet_common.wire.client import (
    Held,
    Pulled,
)
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Evidence,
    EvidenceReply,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    VersionRef,
)


@dataclass
class FakeAggregator:
    """Answers what the test tells it to; `failures` are raised first, one per call."""

    reply: HeartbeatReply = field(default_factory=answer)
    versions: dict[int, bytes] = field(default_factory=dict)
    outcome: Outcome = Outcome.ACCEPTED
    failures: list[Exception] = field(default_factory=list)
    beats: list[Heartbeat] = field(default_factory=list)
    stock: list[str] = field(default_factory=list)
    deltas: list[DeltaHeader] = field(default_factory=list)
    pulls: list[Held | None] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    """Sets of evidence that are not wanted."""

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatReply:
        self._fail()
        self.beats.append(beat)
        return self.reply

    async def put_stock(self, lineage: Lineage, source: Path, *, digest: str) -> VersionRef:
        self._fail()
        self.stock.append(digest)
        return VersionRef(0, digest, source.stat().st_size)

    async def push_delta(self, header: DeltaHeader, source: Path) -> DeltaReply:
        self._fail()
        self.deltas.append(header)
        return DeltaReply(self.outcome, "because")

    async def put_evidence(self, evidence: Evidence) -> EvidenceReply:
        self._fail()
        if evidence.set in self.closed:
            return EvidenceReply(wanted=False, reason="it has ended")
        self.evidence.append(evidence)
        return EvidenceReply(wanted=True, reason="")

    async def pull_version(
        self, lineage_id: str, number: int, *, into: Path, have: Held | None
    ) -> Pulled:
        self.pulls.append(have)
        self._fail()
        into.write_bytes(self.versions[number])
        return Pulled(version(number), 10, is_patch=have is not None)


class Linked:
    """A link with its files and a clock that counts the questions asked of it."""

    def __init__(self, directory: Path, who: Worker) -> None:
        self.state, self.shared = directory / "state", directory / "shm"
        self.state.mkdir()
        self.shared.mkdir()
        self.aggregator = FakeAggregator()
        self.registry = CollectorRegistry()
        self.now = 0.0
        volume = Volume(self.state, self.shared)
        self.observer = Observer(volume, engine_silence_seconds=1e9, clock=self.tick)
        self.link = Link(
            who,
            self.aggregator,
            volume,
            self.observer,
            Instruments(self.registry),
            phase=lambda reported: reported or "waiting",
            clock=self.tick,
        )

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def finish_round(self) -> None:
        """Leave what a trainer leaves that has finished round 3."""
        (self.state / "version-3.safetensors").write_bytes(weights(3))
        (self.state / "delta-3.bin").write_bytes(b"delta")
        write_message(self.state / ORDERS, orders())
        write_message(self.state / REPORT, report(delta_digest="d" * 64))
        self.aggregator.reply = answer(base=version(3))

    async def settle(self) -> None:
        """Beat once, then move until nothing is left to do."""
        await self.link.beat()
        for _ in range(10):
            if await self.link.move() > 0:
                return
        raise AssertionError("the link does not come to rest")
