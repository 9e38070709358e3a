"""What tests of promotions are built from: workers that serve as they are told, and measure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from specfleet_aggregator.promotion.tests.worlds import kinds
from specfleet_aggregator.tests.builders import (
    LINEAGE,
    FakeWorker,
    aggregator,
    at_version,
    beat,
    drafter,
    joined,
    write_settings,
)
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.judge.switchback import Arm
from specfleet_common.judge.tests import building
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import Entry, VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.tensors import content_digest
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import Comparison, Evidence, EvidenceReply, HeartbeatReply

QUICK = {"minimumRounds": 1, "pauseSeconds": 0.0, "blockSeconds": 30.0, "washoutSeconds": 5.0}
"""Candidates come at once, and nothing is waited for but evidence."""


@dataclass
class Engine(FakeWorker):
    """A worker whose engine serves what is stable, or what it is told to serve instead."""

    observed: str = "stock"
    obeys: bool = True

    async def heartbeat(self) -> HeartbeatReply:
        stock_digest = content_digest(self.stock)
        said = beat(self.worker_id, lineage=self.lineage, stock_digest=stock_digest)
        said = replace(said, serve="Stable", observed_digest=self.observed)
        reply = await self.client.heartbeat(said)
        self.replies.append(reply)
        if self.obeys:
            self._serve(reply)
        return reply

    def _serve(self, reply: HeartbeatReply) -> None:
        compared = reply.comparison
        if compared is not None:
            block = compared.plan.block_at(compared.elapsed_seconds)
            arm = compared.plan.arm(self.worker_id, block)
            self.observed = (compared.trial if arm is Arm.TRIAL else compared.base).digest
        elif reply.serve is not None:
            self.observed = reply.serve.digest
        elif reply.stable is not None:
            self.observed = reply.stable.digest

    async def hand_in(
        self,
        set_: str,
        *,
        walks: list[Walk] | None = None,
        blocks: list[Block] | None = None,
        requests: list[Request] | None = None,
    ) -> EvidenceReply:
        return await self.client.put_evidence(
            Evidence(
                worker_id=self.worker_id,
                lineage_id=LINEAGE.id,
                set=set_,
                walks=tuple(walks or ()),
                blocks=tuple(blocks or ()),
                requests=tuple(requests or ()),
            )
        )

    async def walk(self, *, gain: float, count: int = 60) -> EvidenceReply:
        """Hand in walks of the candidate that a heartbeat's reply names, when it does."""
        reply = await until(self, lambda reply: reply.walk is not None)
        assert reply.walk is not None
        return await self.hand_in(reply.walk.promotion, walks=building.walks(count, gain=gain))

    async def compare(
        self, *, effect: float, pairs: int = 20, slower: float = 0.0
    ) -> EvidenceReply:
        """Hand in blocks and requests of the comparison that a reply names, when it does."""
        reply = await until(self, lambda reply: reply.comparison is not None)
        assert reply.comparison is not None
        return await self.hand_in(
            reply.comparison.id,
            blocks=blocks(reply.comparison, self.worker_id, effect=effect, pairs=pairs),
            requests=requests(reply.comparison, self.worker_id, slower=slower, pairs=pairs),
        )


def blocks(comparison: Comparison, engine: str, *, effect: float, pairs: int = 20) -> list[Block]:
    """Return what an engine did in pairs that compare."""
    plan = comparison.plan
    numbers = [pair for pair in range(10_000) if plan.compares(engine, 2 * pair)][:pairs]
    return [
        Block(
            engine=engine,
            block=block,
            band=3,
            digest=_ran(comparison, engine, block),
            swaps=1,
            busy_seconds=20.0,
            tokens=round(
                2000 * (1 + effect * (plan.arm(engine, block) is Arm.TRIAL) + 0.001 * (pair % 5))
            ),
            verify_steps=900,
        )
        for pair in numbers
        for block in (2 * pair, 2 * pair + 1)
    ]


def requests(
    comparison: Comparison, engine: str, *, slower: float, pairs: int = 20
) -> list[Request]:
    """Return five requests of each block of an engine's first pairs."""
    plan = comparison.plan
    found = []
    for block in range(2 * pairs):
        digest = _ran(comparison, engine, block)
        is_trial = digest == comparison.trial.digest
        found += [
            Request(
                request=f"{engine}-{block}-{number}",
                engine=engine,
                started=plan.block_seconds * block + 10 + number,
                digests=(digest,),
                failed=False,
                ttft_seconds=0.1 + 0.01 * number,
                tpot_seconds=(0.01 + 0.001 * number) * (1 + slower * is_trial),
                preemptions=0,
            )
            for number in range(5)
        ]
    return found


def _ran(comparison: Comparison, engine: str, block: int) -> str:
    arm = comparison.plan.arm(engine, block)
    return (comparison.trial if arm is Arm.TRIAL else comparison.base).digest


async def until(engine: Engine, condition: Callable[[HeartbeatReply], bool]) -> HeartbeatReply:
    """Heartbeat until the reply is as wanted; the test's timeout is the deadline."""
    while not condition(reply := await engine.heartbeat()):
        pass
    return reply


@asynccontextmanager
async def fleet_with_a_candidate(
    directory: Path, *names: str, **promotion: object
) -> AsyncIterator[list[Engine]]:
    """Run an aggregator whose engines have made version 1, which is a candidate at once."""
    async with engines_of(directory, *names, **promotion) as engines:
        await engines[0].push(drafter(0.5))
        await at_version(engines[0], 1)
        yield engines


@asynccontextmanager
async def engines_of(
    directory: Path, *names: str, **promotion: object
) -> AsyncIterator[list[Engine]]:
    """Run an aggregator, on what may be in the store already, with engines that have joined it."""
    async with aggregator(directory, quorum_percent=1, promotion={**QUICK, **promotion}) as client:
        yield await engines_at(client, directory, *names)


async def engines_at(client: AggregatorClient, directory: Path, *names: str) -> list[Engine]:
    """Return engines that have joined an aggregator."""
    engines = [Engine(client, directory, name) for name in names]
    for engine in engines:
        await joined(engine)
    return engines


async def one_that_compares(engines: list[Engine]) -> Engine:
    """Heartbeat until one of the engines is told to compare."""
    while True:
        for engine in engines:
            if (await engine.heartbeat()).comparison is not None:
                return engine


async def all_told(engines: list[Engine], condition: Callable[[HeartbeatReply], bool]) -> None:
    """Heartbeat until all engines are told what is wanted."""
    while not all([condition(await engine.heartbeat()) for engine in engines]):
        pass


async def decided(engines: list[Engine], directory: Path, wanted: str) -> None:
    """Heartbeat until a decision is in the ledger."""
    while wanted not in kinds(ledger(directory)):
        for engine in engines:
            await engine.heartbeat()


def decide(directory: Path, promotion: str, decision: str, **promotions: object) -> None:
    """Let a user decide about a promotion, in the settings file."""
    write_settings(
        directory / "settings.json",
        quorum_percent=1,
        promotion={**QUICK, **promotions},
        decisions={promotion: decision},
    )


def ledger(directory: Path) -> list[Entry]:
    """Return the decisions in the ledger, without versions."""
    entries = Ledger(DirectoryStore(directory / "store"), LINEAGE.id).entries()
    return [entry for entry in entries if not isinstance(entry, VersionPublished)]


def stable_is(number: int) -> Callable[[HeartbeatReply], bool]:
    def condition(reply: HeartbeatReply) -> bool:
        return reply.stable is not None and reply.stable.number == number

    return condition


def is_on_no_trial(reply: HeartbeatReply) -> bool:
    return reply.serve is None and reply.comparison is None
