"""Walks for a promotion: reads which heads are wanted, writes what their walks have cost.

Nothing here stops training: heads that cannot be used are a problem to be told, and are looked at
again when another file stands in their place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from specfleet_common import exchange
from specfleet_common.exchange import ExchangeError, Walking, WalkReport
from specfleet_common.judge.records import Walk
from specfleet_common.shm.names import STOCK_FILE
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.contenders import ContenderError, Contenders
from specfleet_trainer.contest import contenders, next_request, record
from specfleet_trainer.heads import Head
from specfleet_trainer.sequences import Sequence as Rows
from specfleet_trainer.walk import walk_request

log = structlog.get_logger()

SAVE_SECONDS = 1.0
"""Walks are written no more often."""

Stamp = tuple[int, int, int]
"""Of a file: another one at the same path has another."""


class Walker:
    """Walks the requests of one lineage; `build` makes a head without weights.

    `domain` is what the first requests are called.
    """

    def __init__(
        self,
        state: Path,
        shared: Path,
        *,
        lineage_id: str,
        domain: str,
        build: Callable[[], Head],
        tables: Tables,
        depths: int,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._shared = shared
        self._lineage_id = lineage_id
        self._domain = domain
        self._build = build
        self._tables = tables
        self._depths = depths
        self._clock = clock
        self._walking: Walking | None = None
        self._read: Stamp | None = None
        self._contenders: Contenders | None = None
        self._refused: tuple[Stamp | None, ...] = ()
        """The files that were no use."""
        self._walks: dict[str, Walk] = {}
        self._problem = ""
        self._is_saved = True
        self._saved_at = -SAVE_SECONDS

    def walk(
        self, newest: Sequence[Rows], first: Sequence[Rows], *, alive: Callable[[], None]
    ) -> bool:
        """Walk one request if one waits, and say so; `alive` is called now and then meanwhile.

        The first ones that were ever held out take turns with the newest: all before them would
        delay every candidate, and after them what they were kept for would be decided.
        """
        self._follow()
        turns = [(first, self._domain), (newest, "")]
        turns.sort(key=lambda turn: self._num_walked(turn[1]))
        has_walked = any(self._walk_next(requests, domain, alive) for requests, domain in turns)
        if self._clock() >= self._saved_at + SAVE_SECONDS:
            self._save()
        return has_walked

    def _num_walked(self, domain: str) -> int:
        return sum(walk.domain == domain for walk in self._walks.values())

    def _walk_next(self, requests: Sequence[Rows], domain: str, alive: Callable[[], None]) -> bool:
        walking, heads = self._walking, self._contenders
        if walking is None or heads is None:
            return False
        request = next_request(requests, self._walks)
        if request is None:
            return False
        walked = walk_request(heads.heads(), self._tables, request, self._depths, alive=alive)
        self._walks[request.id] = record(request, walked, walking, domain=domain)
        self._is_saved = False
        return True

    def _follow(self) -> None:
        """Adopt what is wanted now."""
        path = self._state / exchange.WALKING
        stamp = _stamp(path)
        if stamp != self._read:
            self._read = stamp
            wanted = _wanted(path, self._lineage_id)
            if wanted != self._walking:
                self._adopt(wanted)
        if self._walking is not None and self._contenders is None:
            self._open(self._walking)

    def _adopt(self, walking: Walking | None) -> None:
        self._save()
        self._walking, self._contenders, self._refused = walking, None, ()
        self._walks, self._problem = {}, ""
        if walking is None:
            return
        earlier = _earlier(self._state / exchange.WALKS, walking)
        if earlier is not None:
            self._walks = {walk.request: walk for walk in earlier.walks}
            self._problem = earlier.problem
        log.info("walking", promotion=walking.promotion, known_walks=len(self._walks))

    def _open(self, walking: Walking) -> None:
        paths = {
            walking.candidate.digest: self._state / walking.candidate.file,
            walking.stable.digest: self._state / walking.stable.file,
            # Last, so that a stable or candidate that is stock is read from there.
            walking.stock_digest: self._shared / STOCK_FILE,
        }
        files = {digest: paths[digest] for digest in contenders(walking)}
        stamps = tuple(_stamp(path) for path in files.values())
        if stamps == self._refused:
            return
        try:
            self._contenders, problem = Contenders(files, build=self._build), ""
        except ContenderError as error:
            self._refused, problem = stamps, str(error)
            log.warning("heads_unusable", promotion=walking.promotion, reason=problem)
        if problem != self._problem:
            self._problem, self._is_saved = problem, False

    def _save(self) -> None:
        walking = self._walking
        if walking is None or self._is_saved:
            return
        report = WalkReport(
            promotion=walking.promotion,
            lineage_id=walking.lineage_id,
            walks=tuple(self._walks.values()),
            problem=self._problem,
        )
        exchange.write_message(self._state / exchange.WALKS, report)
        self._is_saved, self._saved_at = True, self._clock()


def _wanted(path: Path, lineage_id: str) -> Walking | None:
    """Return what to walk, None when nothing is to be walked in this lineage."""
    try:
        walking = exchange.read_message(path, Walking)
    except ExchangeError as error:
        log.warning("walking_unreadable", reason=str(error))
        return None
    return walking if walking is not None and walking.lineage_id == lineage_id else None


def _earlier(path: Path, walking: Walking) -> WalkReport | None:
    """Return what an earlier life of the trainer has written of this promotion, if anything."""
    try:
        report = exchange.read_message(path, WalkReport)
    except ExchangeError as error:
        log.warning("walks_unreadable", reason=str(error))
        return None
    mine = (walking.promotion, walking.lineage_id)
    if report is None or (report.promotion, report.lineage_id) != mine:
        return None
    return report


def _stamp(path: Path) -> Stamp | None:
    """Return None for a file that is not there."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
