"""What a promotion's records say in one of its phases, by the rules that were pinned at its start.

The aggregator decides by this, and who doubts a decision recomputes it: the same records give the
same bytes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from specfleet_common.judge.canary import LiveComparison, judge_canary
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.guards import Breach, Guards, breaches
from specfleet_common.judge.records import Records
from specfleet_common.judge.replay import ReplayPolicy, judge_replay, judgeable_domains
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.judge.verdicts import Verdict, rounded
from specfleet_common.store.entries import PromotionOpened, Rules

REPLAY, AFTER = "Replay", "After"
"""Phases that are judged, besides those in which candidate and stable run in turn."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the records say, and which guards do not hold."""

    verdict: Verdict
    breaches: tuple[Breach, ...] = ()


def canonical(judgement: Judgement) -> bytes:
    """Return a judgement as JSON, the same bytes wherever the same records are judged."""
    return json.dumps(
        rounded(asdict(judgement)), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def rejudge(
    opened: PromotionOpened, records: Records, *, phase: str, stock_digest: str
) -> Judgement:
    """Say what the records of a promotion show in a phase; none but those given are looked at."""
    if phase == REPLAY:
        return Judgement(_replayed(opened.rules, records))
    comparison = live_comparison(opened, phase=phase, stock_digest=stock_digest)
    rules, budget = opened.rules, _budget(opened.rules)
    if phase == AFTER:
        return Judgement(
            judge_canary(records.blocks, comparison, margin=rules.margin, budget=budget)
        )
    replayed = _replayed(rules, records).effects[0] if records.walks else None
    return Judgement(
        judge_canary(
            records.blocks, comparison, margin=rules.margin, budget=budget, replayed=replayed
        ),
        breaches(records.requests, comparison, _guards(rules), alpha=rules.failing),
    )


def live_comparison(opened: PromotionOpened, *, phase: str, stock_digest: str) -> LiveComparison:
    """Return what runs in turn: candidate and stable, after the promotion stable and stock."""
    rules, is_after = opened.rules, phase == AFTER
    plan = Switchback(
        seed=f"{opened.seed}-after" if is_after else opened.seed,
        block_seconds=rules.block_seconds,
        washout_seconds=rules.washout_seconds,
        one_pair_in=rules.recheck_every if is_after else 1,
    )
    base = stock_digest if is_after else opened.stable_digest
    return LiveComparison(
        plan,
        trial="stable" if is_after else "candidate",
        base="stock" if is_after else "stable",
        digests={Arm.TRIAL: opened.digest, Arm.BASE: base},
    )


def _replayed(rules: Rules, records: Records) -> Verdict:
    policy = ReplayPolicy(
        minimum_gain=rules.minimum_gain,
        margin=rules.margin,
        genesis_domains=judgeable_domains(records.walks),
    )
    return judge_replay(records.walks, policy, _budget(rules))


def _budget(rules: Rules) -> Budget:
    return Budget(passing=rules.passing, failing=rules.failing)


def _guards(rules: Rules) -> Guards:
    return Guards(
        tpot=rules.tpot, ttft=rules.ttft, errors=rules.errors, preemptions=rules.preemptions
    )
