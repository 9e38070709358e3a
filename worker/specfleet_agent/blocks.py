"""What the engine did in each block of a comparison, told from one page to the next. Pure.

A record covers the time between two pages: the first that was surely written past the washout by an
engine that runs the block's arm, and the last that was surely written before the block's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from specfleet_agent.engine_page import Band, EnginePage
from specfleet_agent.situation import Written
from specfleet_agent.switchback import Running
from specfleet_common.judge.records import Block
from specfleet_common.lineage import EARLIER

IDLE = 0
"""The band of a drafter that was seen to be live, but never at work."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One block as far as it has been watched."""

    running: Running
    block: int
    is_whole: bool
    """Whether it was watched from before the end of its washout."""
    swaps_before: int
    newest: EnginePage
    first: EnginePage | None = None
    last: EnginePage | None = None
    observed: frozenset[str] = frozenset()
    """What the engine was seen to run from `first` on."""


def watch(
    before: Watched | None, running: Running | None, page: EnginePage, written: Written
) -> tuple[Watched | None, tuple[Block, ...]]:
    """Return what is known after a look at the page, and the records of the block that has ended.

    A block during which the comparison was not in force all the time, or the engine has started
    anew, leaves no record.
    """
    if running is None or not counts_bands(page):
        return None, ()
    block = running.block(written.by)
    if block < 0:
        return None, ()
    if before is None or not _continues(before, running, page, block):
        is_whole = written.by < running.settles_at(block)
        entered = Watched(running, block, is_whole, page.swaps, newest=page)
        return _add(entered, page, written), ()
    if block == before.block:
        return _add(before, page, written), ()
    entered = Watched(running, block, True, before.newest.swaps, newest=page)
    return _add(entered, page, written), records(before)


def counts_bands(page: EnginePage) -> bool:
    """Return whether the engine counts what a comparison needs; older ones do not."""
    return all(drafter.bands is not None for drafter in page.drafters)


def records(watched: Watched) -> tuple[Block, ...]:
    """Return the records of a block: one for each drafter and band in which something was done.

    A drafter that was live without doing anything is among them if it is not the block's own.
    """
    first, last = watched.first, watched.last
    if not watched.is_whole or first is None or last is None:
        return ()
    work = _work_between(first, last)
    if work is None:
        return ()
    seen = {digest for digest, _ in work}
    idle = watched.observed - seen - {watched.running.version(watched.block).digest}
    cells = {**work, **{(digest, IDLE): Band(IDLE, 0, 0, 0.0) for digest in idle}}
    return tuple(
        Block(
            engine=watched.running.engine,
            block=watched.block,
            band=band,
            digest=digest,
            swaps=last.swaps - watched.swaps_before,
            busy_seconds=done.busy_seconds,
            tokens=done.output_tokens,
            verify_steps=done.verify_steps,
        )
        for (digest, band), done in sorted(cells.items(), key=lambda cell: cell[0])
    )


def _continues(before: Watched, running: Running, page: EnginePage, block: int) -> bool:
    """Say whether this page follows what was watched: same comparison, engine, and later."""
    newest = before.newest
    return (
        before.running == running
        and newest.incarnation == page.incarnation
        and newest.beats <= page.beats
        and newest.swaps <= page.swaps
        and before.block <= block
    )


def _add(watched: Watched, page: EnginePage, written: Written) -> Watched:
    running, watched = watched.running, replace(watched, newest=page)
    if written.after < running.settles_at(watched.block):
        return watched
    observed = page.content(page.observed)
    if watched.first is None:
        if observed != running.version(watched.block).digest:
            return watched
        return replace(watched, first=page, observed=frozenset({observed}))
    return replace(watched, last=page, observed=watched.observed | {observed})


Cell = tuple[str, int]
"""A drafter's digest and a batch band."""


def _work_between(first: EnginePage, last: EnginePage) -> Mapping[Cell, Band] | None:
    """Return what was done in each cell; None when a counter has gone backwards."""
    before = dict(_cells(first))
    work: dict[Cell, Band] = {}
    for cell, now in _cells(last):
        then = before.get(cell, Band(now.band, 0, 0, 0.0))
        done = (
            now.verify_steps - then.verify_steps,
            now.output_tokens - then.output_tokens,
            now.busy_seconds - then.busy_seconds,
        )
        if min(done) < 0:
            return None
        if max(done) > 0:
            work[cell] = Band(now.band, *done)
    return work


def _cells(page: EnginePage) -> Iterator[tuple[Cell, Band]]:
    for drafter in page.drafters:
        if drafter.digest != EARLIER:
            for band in drafter.bands or ():
                yield (page.content(drafter.digest), band.band), band
