"""Which engines compare, and which run the candidate: chosen by lot, kept while they live.

One that has had no traffic for long has nothing to compare: it gives way to one that has some.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from specfleet_aggregator.promotion.history import Promotion
from specfleet_common.api.learning import PromotionSettings
from specfleet_common.api.promotion import Phase

Engines = Mapping[str, str]
"""Live engines that serve what is stable: by worker, the digest that was observed."""

ON_LIVE_ENGINES = (Phase.CANARY, Phase.ROLLING)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Who has some. Little traffic comes now here, now there: whoever is neither is let be."""

    busy: frozenset[str] = frozenset()
    """Have just put out tokens."""
    idle: frozenset[str] = frozenset()
    """Have put out none for a long time."""


@dataclass(frozen=True, slots=True)
class Roster:
    """Who does what for a promotion, and who compares stable with stock."""

    promotion: str = ""
    canaries: frozenset[str] = frozenset()
    rolled: frozenset[str] = frozenset()
    """Told to run the candidate."""
    waiting: frozenset[str] = frozenset()
    """Those of them that were not seen to run it."""
    changed_at: float = 0.0
    """When the last of these changed."""
    watched: str = ""
    watchers: frozenset[str] = frozenset()
    """Compare stable with stock."""


def draw(seed: str, workers: Collection[str], number: int) -> frozenset[str]:
    """Return `number` of some workers, always the same."""
    return frozenset(sorted(workers, key=lambda worker: _lot(seed, worker))[:number])


def chosen(
    seed: str,
    number: int,
    *,
    kept: Collection[str],
    among: Collection[str],
    traffic: Traffic,
) -> frozenset[str]:
    """Return `number` workers: those of `kept` that are there, and as many others as are missing.

    Busy ones fill the places of missing and idle ones first. More are kept than needed only until
    they go.
    """
    there, others = frozenset(kept) & frozenset(among), frozenset(among) - frozenset(kept)
    found = there - traffic.idle
    for more in (others & traffic.busy, there & traffic.idle, others - traffic.busy):
        found |= draw(seed, more, max(0, number - len(found)))
    return found


def next_roster(
    roster: Roster,
    engines: Engines,
    settings: PromotionSettings,
    *,
    running: Promotion | None,
    watched: Promotion | None,
    traffic: Traffic,
    known: Collection[str] = (),
    may_choose: bool = True,
    now: float,
) -> Roster:
    """Return who does what from now on.

    `known` are workers whose records have come: after a restart they go on. Until `may_choose`,
    when all who outlived it had the time to report, nobody else is chosen.
    """
    if watched is None or watched.id != roster.watched:
        roster = replace(roster, watched=watched.id if watched else "", watchers=frozenset())
    if watched is not None and may_choose:
        watchers = chosen(
            watched.opened.seed, 1, kept=roster.watchers, among=engines, traffic=traffic
        )
        roster = replace(roster, watchers=watchers)
    if running is None or running.phase not in ON_LIVE_ENGINES:
        return Roster(watched=roster.watched, watchers=roster.watchers)
    if roster.promotion != running.id:
        kept = frozenset(known)
        roster = replace(Roster(changed_at=now), promotion=running.id, canaries=kept)
    is_rolling = running.phase is Phase.ROLLING
    if is_rolling:
        roster = _seen(roster, engines, running.candidate.digest, now=now)
    if may_choose:
        roster = _with_canaries(roster, engines, settings, running, traffic)
    else:
        free = engines.keys() - roster.rolled
        roster = replace(roster, canaries=roster.canaries & free)
    if is_rolling and may_choose:
        roster = _next_batch(roster, engines, settings, running.opened.seed, now=now)
    return roster


def is_rolled_out(roster: Roster, engines: Engines) -> bool:
    """Say whether all live engines were told to run the candidate, and seen to do so."""
    return bool(engines) and engines.keys() <= roster.rolled and not roster.waiting


def _with_canaries(
    roster: Roster,
    engines: Engines,
    settings: PromotionSettings,
    running: Promotion,
    traffic: Traffic,
) -> Roster:
    canaries = chosen(
        running.opened.seed,
        settings.canary_engines,
        kept=roster.canaries,
        among=engines.keys() - roster.rolled,
        traffic=traffic,
    )
    return replace(roster, canaries=canaries)


def _seen(roster: Roster, engines: Engines, digest: str, *, now: float) -> Roster:
    """Note who runs the candidate; those who did before a restart of the aggregator count."""
    running = frozenset(worker for worker, observed in engines.items() if observed == digest)
    rolled = (roster.rolled & engines.keys()) | (running - roster.canaries)
    waiting = rolled - running
    if (rolled, waiting) == (roster.rolled, roster.waiting):
        return roster
    return replace(roster, rolled=rolled, waiting=waiting, changed_at=now)


def _next_batch(
    roster: Roster, engines: Engines, settings: PromotionSettings, seed: str, *, now: float
) -> Roster:
    """Tell the next engines to run the candidate, the canaries last."""
    left = engines.keys() - roster.rolled
    is_pausing = bool(roster.rolled) and now - roster.changed_at < settings.pause_seconds
    if not left or roster.waiting or is_pausing:
        return roster
    batch = draw(seed, (left - roster.canaries) or left, settings.engines_at_once)
    return replace(
        roster,
        canaries=roster.canaries - batch,
        rolled=roster.rolled | batch,
        waiting=batch,
        changed_at=now,
    )


def _lot(seed: str, worker: str) -> bytes:
    return hashlib.sha256(f"{seed}/{worker}".encode()).digest()
