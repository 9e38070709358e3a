"""What the user set and decided about promotions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from specfleet_aggregator.promotion.history import History, Version
from specfleet_common.api.learning import PromotionSettings
from specfleet_common.api.promoting import Mode
from specfleet_common.api.promotion import Decision, Phase, promotion_id
from specfleet_common.judge.spending import promotion_alpha
from specfleet_common.store.entries import PromotionOpened, Rules

_IDLE_PAIRS = 10
PREEMPTIONS = 0.1
"""Allowed rise of preemptions per request: a drafter has nothing to do with the cache's size."""
SUPERSEDED_AFTER_SECONDS = 60.0
"""A candidate that has no evidence for so long makes room for a newer version."""


@dataclass(frozen=True, slots=True)
class PromotionPolicy:
    """Settings and decisions in force."""

    settings: PromotionSettings = field(default_factory=PromotionSettings)
    decisions: Mapping[str, Decision] = field(default_factory=dict)

    @property
    def is_paused(self) -> bool:
        """Say whether nothing is decided but what a user decides."""
        return self.settings.mode == Mode.PAUSED

    def aborts(self, promotion: str) -> bool:
        """Say whether a user has ended a promotion."""
        return self.decisions.get(promotion) == Decision.ABORT

    def approves(self, promotion: str) -> bool:
        """Say whether a promotion that has passed its canary may go on."""
        needs_approval = self.settings.mode == Mode.MANUAL
        return not needs_approval or self.decisions.get(promotion) == Decision.APPROVE

    @property
    def pair_seconds(self) -> float:
        """Return how long an engine takes to compare once."""
        return 2 * self.settings.block_seconds

    @property
    def idle_seconds(self) -> float:
        """Return after how long without a token an engine gives way to one that has traffic."""
        return _IDLE_PAIRS * self.pair_seconds

    def seconds(self, phase: Phase) -> float:
        """Return after how long without a decision, or an engine's change, a phase is given up."""
        if phase in (Phase.PENDING, Phase.REPLAY):
            return self.settings.replay_seconds
        return self.settings.canary_seconds

    def rules(self, history: History) -> Rules:
        """Return what the next promotion is judged by."""
        settings = self.settings
        return Rules(
            minimum_gain=settings.minimum_gain,
            margin=settings.margin,
            passing=promotion_alpha(settings.false_promotion, history.spent),
            failing=settings.false_promotion,
            block_seconds=settings.block_seconds,
            washout_seconds=settings.washout_seconds,
            tpot=settings.tpot,
            ttft=settings.ttft,
            errors=settings.errors,
            preemptions=PREEMPTIONS,
            recheck_every=settings.recheck_every,
        )


def opening(
    history: History,
    candidate: Version,
    stable: Version,
    policy: PromotionPolicy,
    *,
    lineage_id: str,
    now: float,
) -> PromotionOpened:
    """Return the entry that makes a version a candidate; its seed follows from its name."""
    promotion = promotion_id(candidate.number, candidate.digest)
    seed = hashlib.sha256(f"{lineage_id}/{promotion}".encode()).hexdigest()
    return PromotionOpened(
        kind="promotion_opened",
        at=now,
        promotion=promotion,
        number=candidate.number,
        digest=candidate.digest,
        stable_number=stable.number,
        stable_digest=stable.digest,
        seed=seed[:32],
        rules=policy.rules(history),
    )
