"""What a promotion did, as watchers of the fleet saw it: when, how far, and on whose traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from e2e.observing import Observer
from specfleet_common.wire.messages import FleetState, PromotionState

PATIENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Told:
    """One promotion from its first mention to its end; seconds are the observer's."""

    promotion: PromotionState
    phases: tuple[tuple[str, float], ...]
    """Every phase that was seen, and when it was first."""
    began: float
    ended: float
    candidate_tokens: int
    """What engines put out with the candidate meanwhile."""
    all_tokens: int

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.ended - self.began

    @property
    def traffic_percent(self) -> float:
        """Return the share of the traffic that the candidate was used for."""
        return 100 * self.candidate_tokens / max(1, self.all_tokens)


@dataclass(slots=True)
class _Following:
    phases: dict[str, float] = field(default_factory=dict)
    began: float = 0.0
    tokens: tuple[int, int] = (0, 0)


async def follow(observer: Observer, number: int, *, seconds: float = PATIENCE_SECONDS) -> Told:
    """Wait until the promotion of a version is over; end when it is not in time."""
    following = _Following(began=observer.seconds)

    def promotion() -> PromotionState | None:
        found = observer.state.promotions if observer.state else ()
        return next((one for one in found if one.number == number), None)

    def is_over() -> bool:
        found, state = promotion(), observer.state
        if found is None or state is None:
            return False
        if not following.phases:
            following.began = observer.seconds
            following.tokens = tokens(state, found.digest)
        following.phases.setdefault(found.phase, observer.seconds)
        return found.phase == "Done"

    if await observer.until(is_over, seconds=seconds) is None:
        raise SystemExit(f"version {number} was not judged in {seconds:.0f} s: {promotion()}")
    found, state = promotion(), observer.state
    assert found is not None
    assert state is not None
    candidate, everything = tokens(state, found.digest)
    return Told(
        promotion=found,
        phases=tuple(following.phases.items()),
        began=following.began,
        ended=observer.seconds,
        candidate_tokens=candidate - following.tokens[0],
        all_tokens=everything - following.tokens[1],
    )


def tokens(state: FleetState, digest: str) -> tuple[int, int]:
    """Return how many tokens engines have put out with a drafter, and with any."""
    counters = [one for worker in state.workers for one in worker.drafters]
    mine = sum(one.output_tokens for one in counters if one.digest == digest)
    return mine, sum(one.output_tokens for one in counters)


def all_run(observer: Observer, digest: str) -> Callable[[], bool]:
    """Return what says whether every live engine was last seen to run a drafter."""

    def do_all_run() -> bool:
        workers = observer.state.workers if observer.state else ()
        live = [worker for worker in workers if worker.live]
        return bool(live) and all(worker.observed_digest == digest for worker in live)

    return do_all_run
