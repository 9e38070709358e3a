"""Guards: what users feel must not get worse, whatever the tokens per second say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from specfleet_common.judge.canary import LiveComparison
from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.pairing import Observation, paired_clusters
from specfleet_common.judge.records import Request, union
from specfleet_common.judge.switchback import Arm, counted_requests
from specfleet_common.judge.totals import add_up
from specfleet_common.judge.verdicts import Reason, ReasonCode, percent

LATENCY = ConfidenceSequence(scale=20.0, minimum_clusters=6)
"""In requests: what some tens add whose latencies vary as much as they are long."""


class Guard(StrEnum):
    """What is guarded, in the words of sentences and of stored judgements."""

    TPOT = "time per output token"
    TTFT = "time to first token"
    ERRORS = "failed requests"
    PREEMPTIONS = "preemptions"

    @property
    def key(self) -> str:
        """Return the guard as settings, metrics and resources name it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Guards:
    """By how much each may rise before all engines go back."""

    tpot: float
    """Mean time per output token after the first, relative."""
    ttft: float
    """Mean time to the first token, relative."""
    errors: float
    """Failed requests per request."""
    preemptions: float
    """Preemptions per request."""
    at_once_factor: float = 10.0
    """A latency that rises by so many times what it may is not waited for to become certain."""
    at_once_requests: int = 20
    """But so many requests of each arm must show it."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A guard that does not hold."""

    reason: Reason
    sentence: str


@dataclass(frozen=True, slots=True)
class Rise:
    """By how much something has risen, and by how much it may; NaN while nothing is compared."""

    name: str
    rise: float
    limit: float
    shown: str
    """The rise, for a sentence."""
    allowed: str
    """The limit, for a sentence."""
    is_breach: bool


def breaches(
    requests: Iterable[Request], comparison: LiveComparison, guards: Guards, *, alpha: float
) -> tuple[Breach, ...]:
    """Return the guards that do not hold; each is wrongly among them with at most `alpha`."""
    return tuple(
        Breach(
            Reason(ReasonCode.GUARD_BREACHED, one.name, one.rise, one.limit),
            f"{one.name} rose by {one.shown}, allowed is {one.allowed}",
        )
        for one in rises(requests, comparison, guards, alpha=alpha)
        if one.is_breach
    )


def rises(
    requests: Iterable[Request], comparison: LiveComparison, guards: Guards, *, alpha: float
) -> tuple[Rise, ...]:
    """Return what every guard guards, whether it holds or not."""
    plan = comparison.plan
    served = [
        (request, plan.arm(request.engine, plan.block_at(request.started)))
        for request in counted_requests(plan, comparison.digests, union(requests))
    ]
    return (
        _latency(
            Guard.TPOT,
            [(one, arm) for one, arm in served if one.tpot_seconds > 0],
            lambda request: request.tpot_seconds,
            plan.block_seconds,
            guards.tpot,
            guards,
            alpha,
        ),
        _latency(
            Guard.TTFT,
            [(one, arm) for one, arm in served if not one.failed],
            lambda request: request.ttft_seconds,
            plan.block_seconds,
            guards.ttft,
            guards,
            alpha,
        ),
        _events(Guard.ERRORS, served, lambda one: int(one.failed), guards.errors, alpha),
        _events(Guard.PREEMPTIONS, served, lambda one: one.preemptions, guards.preemptions, alpha),
    )


def _latency(
    name: str,
    served: Sequence[tuple[Request, Arm]],
    latency: Callable[[Request], float],
    block_seconds: float,
    limit: float,
    guards: Guards,
    alpha: float,
) -> Rise:
    """Compare mean latencies inside pairs of blocks."""
    totals = add_up(
        paired_clusters(
            (
                Observation(
                    cluster=(request.engine, int(request.started // (2 * block_seconds))),
                    stratum="",
                    arm=arm,
                    amount=latency(request),
                    exposure=1,
                )
                for request, arm in served
            ),
            unit=1.0,
        )
    )
    rise = float(totals.gain)
    fewer = min(sum(arm is side for _, arm in served) for side in Arm)
    grave = fewer >= guards.at_once_requests and rise > guards.at_once_factor * limit
    is_breach = grave or (rise > limit and bool(LATENCY.above(totals, 0.0, alpha)))
    return Rise(name, rise, limit, percent(rise), percent(limit), is_breach)


def _events(
    name: str,
    served: Sequence[tuple[Request, Arm]],
    count: Callable[[Request], int],
    limit: float,
    alpha: float,
) -> Rise:
    """Compare events per request.

    If they fall on either arm in proportion to its requests, the likelihood ratio of a binomial
    with a uniform prior against that proportion exceeds 1/alpha at any look with at most alpha.
    """
    requests = {side: sum(arm is side for _, arm in served) for side in Arm}
    events = {side: sum(count(one) for one, arm in served if arm is side) for side in Arm}
    if not all(requests.values()):
        return Rise(name, math.nan, limit, "nothing", f"{limit:+.4f}", is_breach=False)
    trial, base = events[Arm.TRIAL], events[Arm.BASE]
    rise = trial / requests[Arm.TRIAL] - base / requests[Arm.BASE]
    expected = requests[Arm.TRIAL] / sum(requests.values())
    log_ratio = (
        math.lgamma(trial + 1)
        + math.lgamma(base + 1)
        - math.lgamma(trial + base + 2)
        - trial * math.log(expected)
        - base * math.log(1 - expected)
    )
    is_breach = rise > limit and log_ratio >= -math.log(alpha)
    return Rise(name, rise, limit, f"{rise:+.4f} per request", f"{limit:+.4f}", is_breach)
