"""Replay: is a candidate better on the walks of the same requests, and has it forgotten nothing?

The effect is the gain in tokens per verify step. All heads of a walk emit the same tokens, so it is
sum(steps of the other) / sum(steps of the candidate) - 1: verify steps add up over requests, which
means of tokens per step do not, and a request weighs as much as the time that it costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.deciding import Budget, Requirement, decide
from specfleet_common.judge.records import Walk, union
from specfleet_common.judge.totals import Cluster, add_up
from specfleet_common.judge.verdicts import Verdict

LIVE = ConfidenceSequence(scale=30.0, minimum_clusters=30)
"""In verify steps squared: what about a thousand steps add of which one in thirty differs."""
CAUTIOUS = replace(LIVE, unseen_loss=0.15)
"""As if one more conversation had been seen, of a kind on which the candidate is 15 % worse."""
GENESIS = ConfidenceSequence(scale=30.0, minimum_clusters=20)
"""What was served first does not change any more, so fewer conversations will do."""
GENESIS_MARGIN = 0.05
"""What a candidate may lose there against stock. A set that does not grow cannot exclude a loss
that is much smaller, and would hold up every promotion."""

CONVERSATION_TOKENS = 4096
"""A conversation of more tokens than this weighs no more than one of so many."""


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """What a candidate has to show."""

    minimum_gain: float
    """Over stable, on live traffic. Some gain must also remain with CAUTIOUS bounds."""
    margin: float
    """What it may lose against stock, on live traffic."""
    genesis_domains: tuple[str, ...] = ()
    """Of the genesis set, those in which nothing may be forgotten."""


def judge_replay(walks: Iterable[Walk], policy: ReplayPolicy, budget: Budget) -> Verdict:
    """Say what the walks of one promotion show so far.

    Better than stable and worse than stock is a contradiction: stable was judged better than stock.
    """
    by_domain: dict[str, list[Walk]] = defaultdict(list)
    for walk in union(walks):
        by_domain[walk.domain].append(walk)

    def requirement(
        other: str, steps: Callable[[Walk], int], domain: str, at_least: float, harm: float
    ) -> Requirement:
        mine = by_domain[domain]
        clusters = walk_clusters(mine, steps)
        return Requirement(
            name=f"candidate over {other}",
            measure="tokens per verify step",
            records="requests",
            clusters="conversations",
            totals=add_up(clusters),
            num_records=len(mine),
            num_clusters=len(clusters),
            sequence=GENESIS if domain else LIVE,
            at_least=at_least,
            harm=harm,
        )

    over_stable = requirement("stable", _stable, "", policy.minimum_gain, 0.0)
    cautious = replace(
        over_stable,
        name="candidate over stable, had one more conversation lost 15 %",
        sequence=CAUTIOUS,
        at_least=0.0,
    )
    over_stock = requirement("stock", _stock, "", -policy.margin, 0.0)
    genesis = [
        requirement(f"stock in genesis {domain}", _stock, domain, -GENESIS_MARGIN, -GENESIS_MARGIN)
        for domain in policy.genesis_domains
    ]
    effects = [over_stable.effect(budget), over_stock.effect(budget)]
    # The other way round is an ordinary loss: not as good as stable, though better than stock.
    is_better = effects[0].lower > 0
    return decide(
        [over_stable, cautious, over_stock, *genesis],
        budget,
        consistent=[effects] if is_better else [],
    )


def judgeable_domains(walks: Iterable[Walk]) -> tuple[str, ...]:
    """Return the domains of the genesis set that have been walked enough to conclude anything."""
    by_domain: dict[str, list[Walk]] = defaultdict(list)
    for walk in union(walks):
        if walk.domain:
            by_domain[walk.domain].append(walk)
    return tuple(
        domain
        for domain, mine in sorted(by_domain.items())
        if GENESIS.enough(add_up(walk_clusters(mine, _stock)))
    )


def walk_clusters(walks: Iterable[Walk], other_steps: Callable[[Walk], int]) -> list[Cluster]:
    """Return one cluster for each conversation, the long ones scaled down.

    Scaled by its tokens, which no head can change, a conversation's ratio stays what it is.
    """
    by_conversation: dict[str, list[Walk]] = defaultdict(list)
    for walk in walks:
        by_conversation[walk.conversation].append(walk)
    clusters = []
    for mine in by_conversation.values():
        tokens = sum(walk.tokens for walk in mine)
        scale = min(1.0, CONVERSATION_TOKENS / tokens)
        clusters.append(
            Cluster(
                a=scale * sum(other_steps(walk) for walk in mine),
                b=scale * sum(walk.candidate_steps for walk in mine),
                weight=scale * tokens,
            )
        )
    return clusters


def _stable(walk: Walk) -> int:
    return walk.stable_steps


def _stock(walk: Walk) -> int:
    return walk.stock_steps
