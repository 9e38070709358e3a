"""Small worlds for tests: a ledger, what the evidence says, and who decides on them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic.alias_generators import to_camel

from specfleet_aggregator.promotion.deciding import Findings, decide
from specfleet_aggregator.promotion.history import History, Promotion, fold
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_common.api.learning import PromotionSettings
from specfleet_common.api.promotion import Decision
from specfleet_common.judge.guards import Breach
from specfleet_common.judge.rejudging import Judgement
from specfleet_common.judge.verdicts import Outcome, Reason, ReasonCode, Verdict
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
    Rules,
    VersionPublished,
)
from specfleet_common.store.evidence import after

RULES = Rules(
    minimum_gain=0.005,
    margin=0.01,
    passing=0.03,
    failing=0.05,
    block_seconds=30.0,
    washout_seconds=5.0,
    tpot=0.05,
    ttft=0.1,
    errors=0.01,
    preemptions=0.1,
    recheck_every=20,
)


_STEPS: tuple[Literal["Replay", "Canary", "Rolling"], ...] = ("Replay", "Canary", "Rolling")


def settings(**changes: object) -> PromotionSettings:
    fields = {"minimum_rounds": 1, **changes}
    data = json.dumps({to_camel(name): value for name, value in fields.items()})
    return PromotionSettings.model_validate_json(data)


def policy(decisions: dict[str, Decision] | None = None, **changes: object) -> PromotionPolicy:
    return PromotionPolicy(settings(**changes), decisions or {})


def judgement(outcome: Outcome, *, breached: str = "") -> Judgement:
    reason = Reason(ReasonCode.GUARD_BREACHED, breached, 0.0, 0.0)
    breaches = (Breach(reason, breached),) if breached else ()
    return Judgement(Verdict(outcome, f"{outcome}.", (), ()), breaches)


def version(number: int, *, digest: str = "", parent: int | None = None) -> VersionPublished:
    previous = number - 1 if number else None
    return VersionPublished(
        kind="version_published",
        at=0.0,
        number=number,
        parent=previous if parent is None else parent,
        digest=digest or f"{number:064x}",
        deltas=1,
        reason="quorum",
    )


def opened(number: int = 1, *, at: float = 0.0) -> PromotionOpened:
    return PromotionOpened(
        kind="promotion_opened",
        at=at,
        promotion=f"{number}-{number:012x}",
        number=number,
        digest=f"{number:064x}",
        stable_number=0,
        stable_digest=f"{0:064x}",
        seed="seed",
        rules=RULES,
    )


def in_phase(phase: str, number: int = 1, *, at: float = 0.0) -> Promotion:
    """Return an open promotion that has come to a phase at a time."""
    reached = _STEPS[: _STEPS.index(phase) + 1] if phase in _STEPS else ()
    start = opened(number, at=at)
    return Promotion(
        start,
        tuple(
            PromotionAdvanced("promotion_advanced", at, start.promotion, step, "Passed.", "", 0)
            for step in reached
        ),
    )


@dataclass
class World:
    """One ledger, and what is true meanwhile."""

    entries: list[Entry] = field(default_factory=lambda: [version(0)])
    policy: PromotionPolicy = field(default_factory=policy)
    now: float = 1000.0
    judgements: dict[str, Judgement] = field(default_factory=dict)
    is_rolled_out: bool = False

    @property
    def history(self) -> History:
        """Return what somebody knows who has just started."""
        return fold(History(), self.entries)

    @property
    def open(self) -> Promotion | None:
        return self.history.open

    def publish(self, *, digest: str = "") -> None:
        history = self.history
        assert history.newest is not None
        number = history.newest.number + 1
        base = history.restarts_from(number - 1)
        self.entries.append(version(number, digest=digest, parent=base.number if base else None))

    def judged(self, outcome: Outcome, *, breached: str = "") -> None:
        """Let the evidence of the open promotion, or else of what is watched, say something."""
        history = self.history
        if history.open is not None:
            self.judgements[history.open.id] = judgement(outcome, breached=breached)
        elif history.watched is not None:
            self.judgements[after(history.watched.id)] = judgement(outcome)

    def decide(self, history: History | None = None) -> Entry | None:
        findings = Findings(judgements=dict(self.judgements), is_rolled_out=self.is_rolled_out)
        decision = decide(
            history or self.history, self.policy, findings, lineage_id="l", now=self.now
        )
        return decision.entry if decision else None

    def settle(self) -> list[Entry]:
        """Append decisions until there is none to make; phases forget what was said before."""
        made = []
        while entry := self.decide():
            self.entries.append(entry)
            made.append(entry)
            if not isinstance(entry, PromotionAdvanced) or entry.phase != "Replay":
                self.judgements.clear()
        return made

    def outcomes(self) -> list[str]:
        return [entry.outcome for entry in self.entries if isinstance(entry, PromotionEnded)]


def world(phase: str = "", **changes: object) -> World:
    """Return a world in which version 1 has come to a phase."""
    found = World(policy=policy({}, **changes))
    found.publish()
    found.settle()
    for step in ("Replay", "Canary", "Rolling"):
        if not phase or found.open is None or found.open.phase == phase:
            break
        found.judged(Outcome.UNDECIDED if step == "Replay" else Outcome.PASSED)
        found.settle()
    if phase:
        assert found.open is not None
        assert found.open.phase == phase
    return found


def promoted() -> World:
    found = world("Rolling")
    found.judged(Outcome.UNDECIDED)
    found.is_rolled_out = True
    found.settle()
    return found


def kinds(entries: Iterable[Entry]) -> list[str]:
    """Return entries in short."""
    return [
        getattr(entry, "outcome", "") or getattr(entry, "phase", "") or entry.kind
        for entry in entries
    ]
