"""A lineage in a store, as an aggregator leaves it: versions, ledger, evidence and verdicts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from specfleet_common.judge.records import Block, Records, Request, Walk, united
from specfleet_common.judge.rejudging import live_comparison, rejudge
from specfleet_common.judge.switchback import Arm
from specfleet_common.store import evidence
from specfleet_common.store.base import Store
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
    Rules,
    StableWithdrawn,
    VersionPublished,
)
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.owner import claim

LINEAGE = "0123456789abcdef"
STOCK = "0" * 64
BEGAN = 1_800_000_000.0
RULES = Rules(
    minimum_gain=0.005,
    margin=0.02,
    passing=0.03,
    failing=0.05,
    block_seconds=4.0,
    washout_seconds=1.0,
    tpot=0.05,
    ttft=0.1,
    errors=0.01,
    preemptions=0.1,
    recheck_every=20,
)


def digest(number: int) -> str:
    """Return the digest of a version."""
    return f"{number:02x}" * 32


def promotion_opened(number: int = 12, *, at: float = BEGAN) -> PromotionOpened:
    """Return the entry that makes a version a candidate against stock."""
    return PromotionOpened(
        kind="promotion_opened",
        at=at,
        promotion=f"{number}-{digest(number)[:12]}",
        number=number,
        digest=digest(number),
        stable_number=0,
        stable_digest=STOCK,
        seed=f"seed-{number}",
        rules=RULES,
    )


class FakeLineage:
    """Writes a lineage, one decision after the other, ten seconds apart."""

    def __init__(self, store: Store, *, fleet: str = "tiny") -> None:
        self.store = store
        self.now = BEGAN
        claim(store, fleet)
        store.create(f"{LINEAGE}/versions/0/manifest.json", [b"{}"])
        self._append(
            VersionPublished("version_published", BEGAN, 0, None, STOCK, 0, "handed in as stock")
        )

    def opens(self, number: int = 12) -> PromotionOpened:
        """Make a version a candidate."""
        opened = promotion_opened(number, at=self._later())
        self._append(opened)
        return opened

    def stores(
        self, opened: PromotionOpened, records: Iterable[Records], *, after: bool = False
    ) -> None:
        """Store records, one batch a second."""
        set_ = evidence.after(opened.promotion) if after else opened.promotion
        for batch in records:
            self.now += 1.0
            evidence.put(self.store, LINEAGE, set_, batch, at=self.now)

    def advances(
        self, opened: PromotionOpened, phase: str, sentence: str = "", *, judged: str = ""
    ) -> None:
        """Enter a phase by what the records say in the phase `judged`, or without records."""
        found, count, said = self._judge(opened, judged)
        self._append(
            PromotionAdvanced(
                "promotion_advanced",
                self._later(),
                opened.promotion,
                phase,  # type: ignore[arg-type]
                sentence or said,
                found,
                count,
            )
        )

    def ends(
        self,
        opened: PromotionOpened,
        outcome: str,
        sentence: str = "",
        *,
        phase: str,
        judged: str = "",
    ) -> None:
        """End a promotion."""
        found, count, said = self._judge(opened, judged)
        self._append(
            PromotionEnded(
                "promotion_ended",
                self._later(),
                opened.promotion,
                outcome,  # type: ignore[arg-type]
                phase,  # type: ignore[arg-type]
                sentence or said,
                found,
                count,
                harmful=outcome == "Rejected",
            )
        )

    def withdraws(self, opened: PromotionOpened) -> None:
        """Withdraw the version that a promotion made stable."""
        found, count, said = self._judge(opened, "After")
        self._append(
            StableWithdrawn(
                "stable_withdrawn",
                self._later(),
                opened.promotion,
                opened.number,
                opened.digest,
                said,
                found,
                count,
            )
        )

    def _judge(self, opened: PromotionOpened, phase: str) -> tuple[str, int, str]:
        """Store what all records say in a phase; return their digest, number and the sentence."""
        if not phase:
            return "", 0, ""
        set_ = evidence.after(opened.promotion) if phase == "After" else opened.promotion
        batches = evidence.batches(self.store, LINEAGE, set_)
        records = united(batch.records for batch in batches)
        judgement = rejudge(opened, records, phase=phase, stock_digest=STOCK)
        verdict = evidence.stored_verdict(
            opened,
            judgement,
            records,
            [batch.name for batch in batches],
            set_=set_,
            phase=phase,
            stock_digest=STOCK,
        )
        evidence.put_verdict(self.store, LINEAGE, verdict)
        return verdict.evidence, len(records), judgement.verdict.sentence

    def _later(self) -> float:
        self.now += 10.0
        return self.now

    def _append(self, entry: Entry) -> None:
        ledger = Ledger(self.store, LINEAGE)
        assert ledger.append_at(len(ledger.entries()), entry)


def walks(count: int, *, gain: float, seed: int = 1) -> tuple[Walk, ...]:
    """Return walks of as many conversations, in which the candidate saves a share of the steps."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        stable = draw.randint(40, 60)
        candidate = round(stable / (1 + gain) + draw.uniform(-1, 1))
        found.append(
            Walk(f"r{number}", f"c{number}", "", 100, candidate, stable, min(100, stable + 1))
        )
    return tuple(found)


def blocks(
    opened: PromotionOpened, pairs: int, *, gain: float, after: bool = False, seed: int = 1
) -> tuple[Block, ...]:
    """Return blocks of one engine in which the trial arm is faster by a share."""
    draw = random.Random(seed)
    phase = "After" if after else "Canary"
    comparison = live_comparison(opened, phase=phase, stock_digest=STOCK)
    found = []
    for number in range(2 * pairs):
        arm = comparison.plan.arm("main-0-a", number)
        faster = 1 + gain if arm is Arm.TRIAL else 1.0
        tokens = round(3000 * faster * draw.uniform(0.99, 1.01))
        found.append(
            Block("main-0-a", number, 2, comparison.digests[arm], 1, 3.0, tokens, tokens // 2)
        )
    return tuple(found)


def requests(opened: PromotionOpened, count: int, *, slower: float = 0.0) -> tuple[Request, ...]:
    """Return requests, two a second; while the candidate runs, tokens take longer by a share."""
    comparison = live_comparison(opened, phase="Canary", stock_digest=STOCK)
    found = []
    for number in range(count):
        started = number / 2
        arm = comparison.plan.arm("main-0-a", comparison.plan.block_at(started))
        tpot = 0.01 * (1 + slower if arm is Arm.TRIAL else 1.0)
        found.append(
            Request(
                f"q{number}", "main-0-a", started, (comparison.digests[arm],), False, 0.1, tpot, 0
            )
        )
    return tuple(found)


def in_batches(records: Records, size: int) -> Iterable[Records]:
    """Split records into batches, kind by kind."""
    empty = Records()
    for kind in ("walks", "blocks", "requests"):
        some = getattr(records, kind)
        for first in range(0, len(some), size):
            yield replace(empty, **{kind: some[first : first + size]})


def promoted(lineage: FakeLineage, number: int = 12) -> PromotionOpened:
    """Tell the story of a candidate that became stable."""
    opened = lineage.opens(number)
    lineage.stores(opened, in_batches(Records(walks=walks(20, gain=0.1)), 60))
    lineage.advances(opened, "Replay", "First evidence has come.")
    lineage.stores(opened, in_batches(Records(walks=walks(120, gain=0.1)), 60))
    lineage.advances(opened, "Canary", judged="Replay")
    live = Records(blocks=blocks(opened, 30, gain=0.1), requests=requests(opened, 400))
    lineage.stores(opened, in_batches(live, 60))
    lineage.advances(opened, "Rolling", judged="Canary")
    lineage.ends(opened, "Promoted", phase="Rolling", judged="Rolling")
    return opened


def rejected(lineage: FakeLineage, number: int = 20) -> PromotionOpened:
    """Tell the story of a candidate that was worse in replay."""
    opened = lineage.opens(number)
    lineage.stores(opened, in_batches(Records(walks=walks(100, gain=-0.1)), 60))
    lineage.advances(opened, "Replay", "First evidence has come.")
    lineage.ends(opened, "Rejected", phase="Replay", judged="Replay")
    return opened


def withdrawn(lineage: FakeLineage, number: int = 12) -> PromotionOpened:
    """Tell the story of a candidate that became stable, and then was worse than stock."""
    opened = promoted(lineage, number)
    lineage.stores(
        opened,
        in_batches(Records(blocks=blocks(opened, 400, gain=-0.1, after=True)), 400),
        after=True,
    )
    lineage.withdraws(opened)
    return opened


def too_slow(lineage: FakeLineage, number: int = 30) -> PromotionOpened:
    """Tell the story of a candidate that drafts better, but takes twice as long for it."""
    opened = lineage.opens(number)
    lineage.stores(opened, in_batches(Records(walks=walks(120, gain=0.1)), 60))
    lineage.advances(opened, "Replay", "First evidence has come.")
    lineage.advances(opened, "Canary", judged="Replay")
    live = Records(blocks=blocks(opened, 4, gain=-0.1), requests=requests(opened, 160, slower=1.0))
    lineage.stores(opened, in_batches(live, 60))
    lineage.ends(
        opened,
        "Rejected",
        "Guard: time per output token rose by +100.00 %, allowed is +5.00 %.",
        phase="Canary",
        judged="Canary",
    )
    return opened


def waiting(lineage: FakeLineage, number: int = 40) -> PromotionOpened:
    """Tell the story of a candidate that has passed its canary and waits for a user."""
    opened = lineage.opens(number)
    lineage.stores(opened, in_batches(Records(walks=walks(120, gain=0.1)), 60))
    lineage.advances(opened, "Replay", "First evidence has come.")
    lineage.advances(opened, "Canary", judged="Replay")
    lineage.stores(opened, in_batches(Records(blocks=blocks(opened, 30, gain=0.1)), 60))
    lineage.advances(opened, "Canary", judged="Canary")
    return opened
