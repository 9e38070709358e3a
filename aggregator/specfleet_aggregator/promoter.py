"""Carries one lineage's promotions through: reads and writes what `promotion` decides upon.

At most one step at a time. A step judges new evidence in a thread, decides, and appends to the
ledger; when somebody else has appended meanwhile, it reads that and decides anew. While the store
fails nothing is decided, and workers are told what they were told before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import replace

from specfleet_aggregator import accounts, membership
from specfleet_aggregator.fleet import LineageState
from specfleet_aggregator.intake import Intake
from specfleet_aggregator.library import Library
from specfleet_aggregator.promotion import assigning, deciding, judging, pinning, showing
from specfleet_aggregator.promotion.assigning import Engines, Roster, Traffic
from specfleet_aggregator.promotion.deciding import Decision, Findings
from specfleet_aggregator.promotion.history import History, fold
from specfleet_aggregator.promotion.judging import Case, Look
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_aggregator.promotion.telling import Scene, tell
from specfleet_aggregator.surroundings import Surroundings
from specfleet_common.back_off import back_off_seconds
from specfleet_common.store import evidence
from specfleet_common.store.base import StoreError
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    StableWithdrawn,
)
from specfleet_common.store.ledger import Ledger
from specfleet_common.wire.messages import (
    Evidence,
    EvidenceReply,
    FleetState,
    Heartbeat,
    HeartbeatReply,
    VersionRef,
)

_PAUSE_SECONDS = 1.0
_REST = 4.0
"""Times as long as judging took, until the next step: most of a core is left to others."""


class Promoter:
    """One lineage. All methods run in the event loop; what takes long is handed to threads."""

    def __init__(
        self,
        lineage_id: str,
        surroundings: Surroundings,
        *,
        state: Callable[[], LineageState],
        restart: Callable[[], Awaitable[None]],
    ) -> None:
        self._lineage_id = lineage_id
        self._around = surroundings
        self._state = state
        self._restart = restart
        self._ledger = Ledger(surroundings.store, lineage_id)
        self._reading = asyncio.Lock()
        self._history = History()
        self._library = Library(lineage_id, surroundings.store)
        self._intake = Intake(lineage_id, surroundings)
        self._roster = Roster()
        self._seen: Collection[str] = ()
        self._looks: dict[str, Look] = {}
        self._stepping = asyncio.Lock()
        self._next_at = 0.0
        self._judged_seconds = 0.0
        self._failures = 0
        self._trouble = ""

    def adopt(self, surroundings: Surroundings) -> None:
        """Go by other settings, also with a promotion that is open."""
        self._around = surroundings
        self._intake.adopt(surroundings)
        self._next_at = 0.0

    async def refresh(self) -> None:
        """Take up what the ledger says beyond what is known."""
        async with self._reading:
            entries = await asyncio.to_thread(self._ledger.entries)
            history = fold(self._history, entries[self._history.length :])
            await self._library.learn_versions(_told(history, self._policy))
            self._history = history

    def answer(self, beat: Heartbeat, reply: HeartbeatReply) -> HeartbeatReply:
        """Return the reply to a heartbeat with what is stable and on trial."""
        if beat.worker_id not in self._seen:
            # After a restart, an engine that runs the candidate is to go on without a break.
            self.assign()
        name, now = beat.worker_id, self._around.wall()
        told = tell(self._scene(), self._roster, name, trains=beat.trains, now=now)
        return replace(
            reply,
            stable=self._stable(),
            serve=told.serve,
            comparison=told.comparison,
            walk=told.walk,
        )

    def show(self, state: FleetState) -> FleetState:
        """Return what watchers see, with promotions."""
        open_, engines = self._history.open, self._engines()
        trouble = pinning.trouble(
            self._history, self._policy, self._library.missing, has_engines=bool(engines)
        )
        return replace(
            state,
            stable=self._stable(),
            candidate=self._library.versions.get(open_.candidate.number) if open_ else None,
            promotions=showing.show(
                self._history,
                self._policy,
                engines,
                looks=self._looks,
                verdicts=self._library.verdicts,
            ),
            store_error=state.store_error or self._trouble,
            settings_error=state.settings_error or trouble,
        )

    async def take(self, handed_in: Evidence) -> EvidenceReply:
        """Store evidence and return when that is done, or say that it is not wanted."""
        if not self._history.length:
            raise StoreError(f"lineage {self._lineage_id} has not been read yet")
        if handed_in.set not in {case.set for case in self._cases()}:
            return EvidenceReply(wanted=False, reason=f"{handed_in.set} is not open")
        if handed_in.set not in self._intake.open_sets:
            raise StoreError(f"evidence of {handed_in.set} has not been read yet")
        return await self._intake.take(handed_in)

    @property
    def num_records(self) -> int:
        """Return how many records the open promotion rests on."""
        open_ = self._history.open
        return self._intake.num_records(open_.id) if open_ else 0

    def due(self) -> list[Coroutine[None, None, None]]:
        """Return what is to be done now: store evidence, or decide."""
        is_time = not self._stepping.locked() and self._around.monotonic() >= self._next_at
        return [
            *([self._intake.flush()] if self._intake.is_due() else ()),
            *([self.step()] if is_time and self._history.length else ()),
        ]

    def assign(self) -> None:
        """Choose engines anew if some have come, gone or changed."""
        state, now = self._state(), self._around.monotonic()
        self._seen = state.members.keys()
        running = deciding.is_running(self._history, self._policy)
        look = self._looks.get(running.id) if running else None
        self._roster = assigning.next_roster(
            self._roster,
            self._engines(),
            self._policy.settings,
            running=running,
            watched=deciding.is_watching(self._history, self._policy),
            traffic=Traffic(
                busy=membership.busy(state.members, since=now - self._policy.pair_seconds),
                idle=membership.idle(state.members, since=now - self._policy.idle_seconds),
            ),
            known=look.engines if look else (),
            may_choose=state.loaded and now >= state.settled_at,
            now=now,
        )

    async def step(self) -> None:
        """Judge what has come and decide as much as can be decided."""
        async with self._stepping:
            self._judged_seconds = wait = 0.0
            try:
                while await self._decide():
                    self.assign()
                self._failures, self._trouble = 0, ""
            except StoreError as error:
                self._failures += 1
                wait = back_off_seconds(self._failures)
                self._trouble = str(error)
                accounts.store_failed(self._around.metrics, self._lineage_id, error, wait=wait)
            rest = _REST * self._judged_seconds
            self._next_at = self._around.monotonic() + max(wait, rest, _PAUSE_SECONDS)
        self._around.changed()

    async def _decide(self) -> bool:
        """Make one decision; False when there is none to make."""
        state = self._state()
        if state.loaded and state.fresh != self._history.num_restarts:
            await self._restart()
        await self._library.learn_versions(_told(self._history, self._policy))
        for case in self._intake.keep(self._cases()):
            await self._intake.open(case)
        await self._judge()
        await self._library.learn_verdicts(showing.closed_sets(self._history, self._policy))
        history = self._history
        decision = deciding.decide(
            history,
            self._policy,
            self._findings(),
            lineage_id=self._lineage_id,
            now=self._around.wall(),
        )
        if decision is None:
            return False
        entry = await self._with_evidence(decision)
        async with self._reading:
            appended = await asyncio.to_thread(self._ledger.append_at, history.length, entry)
        await self.refresh()
        if appended:
            accounts.decided(self._around.metrics, self._lineage_id, entry)
        return True

    async def _judge(self) -> None:
        """Look at the sets that have something new, or are judged in another way now."""
        cases = self._cases()
        self._looks = {case.set: self._looks[case.set] for case in cases if case.set in self._looks}
        for case in cases:
            known, batches = self._looks.get(case.set), self._intake.batches(case.set)
            if known and known.case == case and len(known.entries) == len(batches):
                continue
            began_at = self._around.monotonic()
            look = await asyncio.to_thread(judging.look, case, batches)
            self._judged_seconds += self._around.monotonic() - began_at
            if look is not None:
                self._looks[case.set] = look

    async def _with_evidence(self, decision: Decision) -> Entry:
        """Store what a decision rests on before the decision itself."""
        if not decision.rests_on:
            return decision.entry
        entry, look = decision.entry, self._looks[decision.rests_on]
        assert isinstance(entry, PromotionAdvanced | PromotionEnded | StableWithdrawn)
        verdict = await asyncio.to_thread(look.stored)
        await asyncio.to_thread(evidence.put_verdict, self._around.store, self._lineage_id, verdict)
        return replace(entry, evidence=verdict.evidence, records=verdict.records)

    def _findings(self) -> Findings:
        engines = self._engines()
        return Findings(
            has_engines=bool(engines),
            judgements={name: look.judgement for name, look in self._looks.items()},
            is_rolled_out=assigning.is_rolled_out(self._roster, engines),
            idle_seconds=self._around.monotonic() - self._roster.changed_at,
        )

    def _cases(self) -> list[Case]:
        """Return the sets that are open."""
        history = self._history
        if history.stock is None:
            return []
        stock_digest, cases = history.stock.digest, []
        if history.open is not None:
            cases.append(judging.open_case(history.open, stock_digest=stock_digest))
        if history.watched is not None:
            cases.append(judging.after_case(history.watched, stock_digest=stock_digest))
        return cases

    def _scene(self) -> Scene:
        return Scene(
            running=deciding.is_running(self._history, self._policy),
            watched=deciding.is_watching(self._history, self._policy),
            versions=self._library.versions,
            sets=self._intake.open_sets,
        )

    def _stable(self) -> VersionRef | None:
        return pinning.served(self._history, self._policy, self._library.versions)

    def _engines(self) -> Engines:
        return membership.adaptable(
            self._state().members,
            now=self._around.monotonic(),
            lease_seconds=self._around.policy.lease_seconds,
        )

    @property
    def _policy(self) -> PromotionPolicy:
        return self._around.policy.promotion


def _told(history: History, policy: PromotionPolicy) -> set[int]:
    """Return the numbers of the versions that workers may be told to fetch."""
    told = {version.number for version in (history.stock, history.stable) if version}
    if history.open is not None:
        told.add(history.open.candidate.number)
    if policy.settings.pin is not None:
        told.add(policy.settings.pin)
    return told
