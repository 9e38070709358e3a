"""Listens to every fleet's aggregator, and has a fleet looked at when something matters changed.

It only listens: settings reach aggregators as files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import structlog

from specfleet_common.api.promotion import Phase
from specfleet_common.back_off import back_off_seconds
from specfleet_common.lineage import MISMATCH
from specfleet_common.wire.access import Access
from specfleet_common.wire.client import AggregatorClient, Refused, Unauthorized, Unreachable
from specfleet_common.wire.messages import FleetState, PromotionState, TrainerStatus
from specfleet_operator import api
from specfleet_operator.observed import AggregatorView
from specfleet_operator.store import FleetKey
from specfleet_operator.tokens import FreshToken, Tokens

log = structlog.get_logger()

LAST_PAUSE_SECONDS = 15.0
QUIET_SECONDS = 2.0
"""However fast an aggregator's state changes, its fleet is not looked at more often for that."""

Mark = Callable[[Iterable[FleetKey]], None]


@dataclass(frozen=True, slots=True)
class Address:
    """Where an aggregator is, whom it is vouched for by, and for whom tokens to it are meant."""

    host_port: str
    ca_pem: str
    audience: str


@dataclass(slots=True)
class _Followed:
    address: Address
    task: asyncio.Task[None]
    view: AggregatorView | None = None
    marked_at: float = float("-inf")
    later: asyncio.TimerHandle | None = None
    is_new_connection: bool = True
    states: dict[str, FleetState] = field(default_factory=dict)


class Aggregators:
    """The streams of all fleets' aggregators."""

    def __init__(
        self,
        tokens: Tokens,
        *,
        mark: Mark,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._tokens = tokens
        self._mark = mark
        self._clock = clock
        self._wall_clock = wall_clock
        self._followed: dict[FleetKey, _Followed] = {}

    def follow(self, fleet: FleetKey, address: Address) -> None:
        """Listen to a fleet's aggregator from now on, at this address."""
        known = self._followed.get(fleet)
        if known is not None and known.address == address:
            return
        view = None if known is None else known.view
        self._end(fleet)
        task = asyncio.create_task(self._listen(fleet, address), name=f"aggregator of {fleet}")
        self._followed[fleet] = _Followed(address, task, view)

    def forget(self, fleet: FleetKey) -> None:
        """Listen no more."""
        if (known := self._followed.get(fleet)) is not None:
            self._tokens.forget(known.address.audience)
        self._end(fleet)

    def view(self, fleet: FleetKey) -> AggregatorView | None:
        """Return what the fleet's aggregator said last; None before it was tried."""
        known = self._followed.get(fleet)
        return None if known is None else known.view

    def count(self) -> dict[bool, int]:
        """Return how many can be reached, and how many cannot."""
        counts = {True: 0, False: 0}
        for known in self._followed.values():
            counts[known.view is not None and known.view.reachable] += 1
        return counts

    async def stop(self) -> None:
        """Listen to nothing any more."""
        tasks = [known.task for known in self._followed.values()]
        for fleet in list(self._followed):
            self._end(fleet)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, fleet: FleetKey) -> None:
        known = self._followed.pop(fleet, None)
        if known is None:
            return
        known.task.cancel()
        if known.later is not None:
            known.later.cancel()

    async def _listen(self, fleet: FleetKey, address: Address) -> None:
        await asyncio.sleep(0)  # until `follow` has entered it
        num_failures = 0
        while True:
            followed = self._followed[fleet]
            try:
                token = await self._tokens.get(address.audience)
                followed.is_new_connection = True
                await self._stream(fleet, followed, token)
                num_failures = 0
            except Unauthorized as error:
                self._tokens.forget(address.audience)
                num_failures += 1
                self._lost(fleet, followed, str(error))
            except (Unreachable, Refused, api.Unreachable, api.Refused) as error:
                num_failures = 1 if not followed.is_new_connection else num_failures + 1
                self._lost(fleet, followed, str(error))
            except Exception as error:
                num_failures += 1
                log.exception("aggregator_failed", fleet=str(fleet))
                self._lost(fleet, followed, f"{type(error).__name__}: {error}")
            await asyncio.sleep(back_off_seconds(num_failures, last_seconds=LAST_PAUSE_SECONDS))

    async def _stream(self, fleet: FleetKey, followed: _Followed, token: FreshToken) -> None:
        """Listen until the aggregator or the token's age ends it."""
        access = Access(followed.address.ca_pem.encode, lambda: token.value)
        async with AggregatorClient(followed.address.host_port, access) as client:
            try:
                async with (
                    asyncio.timeout(token.renew_at - self._clock()),
                    aclosing(client.watch_state()) as states,
                ):
                    async for state in states:
                        self._heard(fleet, followed, state)
            except TimeoutError:
                return

    def _heard(self, fleet: FleetKey, followed: _Followed, state: FleetState) -> None:
        before = followed.view
        if followed.is_new_connection:
            followed.states.clear()
            followed.is_new_connection = False
        followed.states[state.lineage_id] = state
        if state.lineage_id:
            followed.states.pop("", None)
        states = tuple(followed.states[key] for key in sorted(followed.states))
        was_reachable = before is not None and before.reachable
        since = before.since if before is not None and was_reachable else self._wall_clock()
        followed.view = AggregatorView(reachable=True, error="", since=since, states=states)
        old = () if before is None else before.states
        if not was_reachable or [gist(one) for one in old] != [gist(one) for one in states]:
            self._changed(fleet, followed)

    def _lost(self, fleet: FleetKey, followed: _Followed, error: str) -> None:
        before = followed.view
        if before is not None and not before.reachable:
            followed.view = replace(before, error=error)
            return
        log.warning("aggregator_lost", fleet=str(fleet), error=error)
        states = () if before is None else before.states
        followed.view = AggregatorView(
            reachable=False, error=error, since=self._wall_clock(), states=states
        )
        self._changed(fleet, followed)

    def _changed(self, fleet: FleetKey, followed: _Followed) -> None:
        wait = followed.marked_at + QUIET_SECONDS - self._clock()
        if wait <= 0:
            followed.marked_at = self._clock()
            self._mark([fleet])
        elif followed.later is None:
            loop = asyncio.get_running_loop()
            followed.later = loop.call_later(wait, self._mark_late, fleet, followed)

    def _mark_late(self, fleet: FleetKey, followed: _Followed) -> None:
        followed.later = None
        followed.marked_at = self._clock()
        self._mark([fleet])


_NO_STATUS = TrainerStatus("", 0, 0, 0, 0.0, ())


def gist(state: FleetState) -> FleetState:
    """Return a state without what changes all the time and decides nothing."""
    return replace(
        state,
        deltas=0,
        reason="",
        received_bytes=0,
        sent_bytes=0,
        workers=tuple(
            replace(
                worker,
                # A canary runs another drafter every few seconds.
                observed_digest=MISMATCH if worker.observed_digest == MISMATCH else "",
                swaps=0,
                delta_counted=False,
                drafters=(),
                refused_deltas=0,
                trainer=replace(_NO_STATUS, phase=worker.trainer.phase),
            )
            for worker in state.workers
        ),
        promotions=tuple(_gist(promotion) for promotion in state.promotions),
    )


def _gist(promotion: PromotionState) -> PromotionState:
    """Return a promotion without what is measured; the next look at its fleet shows that."""
    if promotion.phase == Phase.DONE:
        return replace(promotion, engines=0, candidate_engines=0)
    rolled = promotion.candidate_engines if promotion.phase == Phase.ROLLING else 0
    return replace(promotion, sentence="", candidate_engines=rolled, evidence_digest="", effects=())
