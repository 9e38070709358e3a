"""Which held-out request is walked next, when, and what is told of its walk. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from specfleet_common.exchange import Walking
from specfleet_common.judge.records import Walk
from specfleet_trainer.progress import Action
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.walk import RequestWalk

MAX_WALKS = 4096
"""Of one promotion; a judge knows by then."""


def may_walk(action: Action, *, walked_last: bool) -> bool:
    """Say whether this turn may go to a walk in place of `action`.

    Walks wait for what other workers wait for, and give every second turn to training.
    """
    return action is Action.WAIT or (action is Action.TRAIN and not walked_last)


def next_request(requests: Iterable[Sequence], walked: Collection[str]) -> Sequence | None:
    """Return the oldest request that was not walked: it is the next to give way to newer ones.

    None when there is none, and when there are walks enough.
    """
    if len(walked) >= MAX_WALKS:
        return None
    return next((request for request in requests if request.id not in walked), None)


def contenders(walking: Walking) -> tuple[str, ...]:
    """Return the digests of the heads to walk; heads that are equal walk once."""
    digests = (walking.candidate.digest, walking.stable.digest, walking.stock_digest)
    return tuple(dict.fromkeys(digests))


def record(request: Sequence, walked: RequestWalk, walking: Walking, *, domain: str) -> Walk:
    """Return what is told of a request that the contenders have walked, in their order.

    `domain` is empty for what is served now.
    """
    steps: Mapping[str, int] = dict(zip(contenders(walking), walked.verify_steps, strict=True))
    return Walk(
        request=request.id,
        conversation=f"{request.key:016x}",
        domain=domain,
        tokens=walked.tokens,
        candidate_steps=steps[walking.candidate.digest],
        stable_steps=steps[walking.stable.digest],
        stock_steps=steps[walking.stock_digest],
    )
