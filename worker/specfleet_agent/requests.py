"""How requests fared during a comparison: the API server's page joined with the engine's. Pure.

The one knows times and failures, the other which drafters proposed. Both write when they like, so a
request waits for its other half.
"""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.frontend_page import Finished, FrontendPage
from specfleet_agent.switchback import Running
from specfleet_common.judge.records import Request
from specfleet_common.lineage import MISMATCH

WAIT_SECONDS = 3.0
"""Both pages are written several times a second; what the engine has not named by then, it never
saw, or it has dropped it from its page."""


@dataclass(frozen=True, slots=True)
class Joining:
    """How far the join has come: the comparison, since when it is in force, what was dealt with."""

    running: Running | None = None
    since: float = 0.0
    dealt_with: frozenset[Finished] = frozenset()


@dataclass(frozen=True, slots=True)
class Joined:
    """The requests of one look, and how many of them nobody knows the drafters of."""

    requests: tuple[Request, ...] = ()
    num_unknown: int = 0


def join(
    before: Joining,
    running: Running | None,
    frontend: FrontendPage | None,
    engine: EnginePage,
    *,
    now: float,
) -> tuple[Joining, Joined]:
    """Return the records of requests that began and ended while the comparison was in force.

    Each is returned once; one that began before this agent saw the comparison, never.
    """
    if running is None:
        return Joining(), Joined()
    if before.running != running:
        before = Joining(running, since=now)
    if frontend is None:
        return before, Joined()
    ours = [one for one in frontend.requests if one.request and one.started >= before.since]
    dealt_with = set(before.dealt_with.intersection(ours))
    records, num_unknown = [], 0
    for finished in ours:
        if finished in dealt_with:
            continue
        digests = _digests(finished, engine)
        if digests is None:
            if now - finished.ended <= WAIT_SECONDS:
                continue
            if not finished.failed:
                dealt_with.add(finished)
                num_unknown += 1
                continue
        dealt_with.add(finished)
        records.append(_record(finished, digests or (), running))
    after = Joining(running, before.since, frozenset(dealt_with))
    return after, Joined(tuple(records), num_unknown)


def _digests(finished: Finished, engine: EnginePage) -> tuple[str, ...] | None:
    """Return all drafters that proposed for a request; None while the engine does not name it.

    Of several requests of one name, those that ended before this one began are others. An engine
    that does not hold what was put there names what it ought to hold, so another is among them.
    """
    named = [
        drafted
        for drafted in engine.requests
        if drafted.request == finished.request and drafted.ended >= finished.started
    ]
    if not named:
        return None
    digests = {engine.content(name) for drafted in named for name in drafted.digests}
    if engine.observed == MISMATCH:
        digests.add(MISMATCH)
    return tuple(sorted(digests))


def _record(finished: Finished, digests: tuple[str, ...], running: Running) -> Request:
    return Request(
        request=finished.request,
        engine=running.engine,
        started=finished.started - running.began,
        digests=digests,
        failed=finished.failed,
        ttft_seconds=finished.ttft_seconds,
        tpot_seconds=finished.tpot_seconds,
        preemptions=finished.preemptions,
    )
