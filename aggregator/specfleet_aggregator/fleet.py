"""One lineage of the fleet: its state, and what workers are told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from specfleet_aggregator import membership
from specfleet_aggregator.membership import Members
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_aggregator.round import (
    Round,
    RoundPolicy,
    close_reason,
    count,
    judge,
    open_round,
)
from specfleet_common.lineage import Lineage, short
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    TrainingOrders,
    VersionRef,
)

# Agents that lost the aggregator try again at least every four seconds.
_SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user set for the whole fleet, as `generation` of the settings says it.

    `settings_error` says why newer settings are not in force, nothing while these are the newest.
    """

    fleet: str
    generation: int
    round: RoundPolicy
    orders: TrainingOrders
    lease_seconds: float
    heartbeat_seconds: float
    settings_error: str = ""
    promotion: PromotionPolicy = field(default_factory=PromotionPolicy)

    @property
    def settle_seconds(self) -> float:
        """How long workers have to report after a restart before a round may close."""
        return max(2 * self.heartbeat_seconds, _SETTLE_SECONDS)


@dataclass(frozen=True, slots=True)
class Refusals:
    """How many deltas of one worker were refused for their content, and why the last one was."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class LineageState:
    """What is known of one lineage; `round` is None until version 0 has been handed in.

    `loaded` says whether the store has told what it has: before, nothing can be concluded. Until
    `settled_at`, workers that outlived a restart may be missing from `members`. `counted` has the
    newest version that each worker's deltas are part of; after a restart, only that of the newest.
    `read_error` is what the store answered when a worker last wanted a version and did not get it.
    `fresh` counts how often training began again from stable.
    """

    lineage: Lineage
    loaded: bool = False
    stock: VersionRef | None = None
    round: Round | None = None
    members: Members = field(default_factory=dict)
    refusals: Mapping[str, Refusals] = field(default_factory=dict)
    store_error: str = ""
    read_error: str = ""
    settled_at: float = 0.0
    counted: Mapping[str, int] = field(default_factory=dict)
    fresh: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


class WrongStock(ValueError):
    """A worker's stock drafter is not the one that this lineage began with."""


def check_stock(state: LineageState, digest: str) -> None:
    """Raise WrongStock when the lineage began with another stock drafter."""
    if state.stock is not None and digest and digest != state.stock.digest:
        raise WrongStock(
            f"stock drafter is {short(digest)}, but lineage {state.lineage.id} began with "
            f"{short(state.stock.digest)}: all engines of a fleet need the same drafter weights"
        )


def heartbeat(
    state: LineageState, beat: Heartbeat, policy: Policy, *, now: float
) -> tuple[LineageState, HeartbeatReply]:
    """Renew a lease and say what the worker should train."""
    check_stock(state, beat.stock_digest)
    members = membership.renew(state.members, beat, now=now, lease_seconds=policy.lease_seconds)
    refusals = {name: known for name, known in state.refusals.items() if name in members}
    round_ = state.round
    reply = HeartbeatReply(
        stock_wanted=state.loaded and state.stock is None and bool(beat.stock_digest),
        round=round_.number if round_ else 0,
        base=round_.base if round_ else None,
        stable=None,
        orders=replace(policy.orders, fresh=state.fresh),
        delta_counted=round_ is not None and beat.worker_id in round_.deltas,
        lease_seconds=policy.lease_seconds,
        heartbeat_seconds=policy.heartbeat_seconds,
        counted_version=state.counted.get(beat.worker_id, 0),
    )
    return replace(state, members=members, refusals=refusals), reply


def stranger(policy: Policy) -> HeartbeatReply:
    """Return the answer to a worker of no lineage: it has nothing to do."""
    return HeartbeatReply(
        stock_wanted=False,
        round=0,
        base=None,
        stable=None,
        orders=policy.orders,
        delta_counted=False,
        lease_seconds=policy.lease_seconds,
        heartbeat_seconds=policy.heartbeat_seconds,
    )


def left(state: LineageState, worker_id: str) -> LineageState:
    """Return the state without a worker that has gone to another lineage."""
    return replace(state, members=membership.without(state.members, worker_id))


def offer(state: LineageState, header: DeltaHeader) -> DeltaReply | None:
    """Say why a delta cannot count before its content is looked at, or None when it may."""
    if state.round is None:
        return DeltaReply(Outcome.STALE, f"lineage {state.lineage.id} has no version yet")
    return judge(state.round, header)


def accept(state: LineageState, header: DeltaHeader) -> tuple[LineageState, DeltaReply]:
    """Count a delta whose content is good, unless the round has moved on meanwhile."""
    refusal = offer(state, header)
    if refusal is not None:
        return state, refusal
    assert state.round is not None
    round_, reply = count(state.round, header)
    return replace(state, round=round_), reply


def refuse(
    state: LineageState, header: DeltaHeader, reason: str
) -> tuple[LineageState, DeltaReply]:
    """Note a delta whose content is bad against its worker."""
    known = state.refusals.get(header.worker_id)
    refusals = Refusals(known.number + 1 if known else 1, reason)
    state = replace(state, refusals={**state.refusals, header.worker_id: refusals})
    return state, DeltaReply(Outcome.REFUSED, reason)


def may_close(state: LineageState, policy: Policy, *, now: float) -> str | None:
    """Say why the round may close now, or None while it must stay open or is closing."""
    if state.round is None or state.round.closing or now < state.settled_at:
        return None
    training = len(training_workers(state, policy, now=now))
    return close_reason(state.round, policy.round, training=training, now=now)


def closing(state: LineageState) -> LineageState:
    """Return the state while the outer step runs: nothing more is counted."""
    assert state.round is not None
    return replace(state, round=replace(state.round, closing=True))


def reopened(state: LineageState, store_error: str) -> LineageState:
    """Return the state after the store failed: the round is open, and its deltas still count."""
    assert state.round is not None
    return replace(state, round=replace(state.round, closing=False), store_error=store_error)


def unloaded(state: LineageState, store_error: str = "") -> LineageState:
    """Return the state in which the store has to be asked again."""
    return replace(state, loaded=False, round=None, store_error=store_error)


def empty(state: LineageState) -> LineageState:
    """Return the state after the store has said that it has no version."""
    return replace(state, loaded=True, round=None, store_error="")


def restored(
    state: LineageState,
    *,
    stock: VersionRef,
    base: VersionRef,
    taken: int,
    workers: Iterable[str] = (),
    fresh: int = 0,
    now: float,
    settle_seconds: float = 0.0,
) -> LineageState:
    """Return the state with a new round from `base`, which is made of the deltas of `workers`.

    `taken` is the highest number in the store.
    """
    counted = {
        name: number
        for name, number in state.counted.items()
        if name in state.members and number < base.number
    }
    return replace(
        state,
        loaded=True,
        stock=stock,
        round=open_round(taken, base, now=now),
        store_error="",
        settled_at=now + settle_seconds,
        counted={**counted, **dict.fromkeys(workers, base.number)},
        fresh=fresh,
    )


def unread(state: LineageState, read_error: str) -> LineageState:
    """Return the state after the store did not give a version that a worker wanted."""
    return replace(state, read_error=read_error)


def moved(state: LineageState, *, received_bytes: int = 0, sent_bytes: int = 0) -> LineageState:
    """Return the state after weights came from a worker or went to one."""
    return replace(
        state,
        read_error="" if sent_bytes else state.read_error,
        received_bytes=state.received_bytes + received_bytes,
        sent_bytes=state.sent_bytes + sent_bytes,
    )


def training_workers(state: LineageState, policy: Policy, *, now: float) -> frozenset[str]:
    """Return the live workers that can hand in a delta."""
    return membership.training(state.members, now=now, lease_seconds=policy.lease_seconds)
