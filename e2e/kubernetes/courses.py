"""What became of a candidate, and when: read in the fleet's bucket, where the aggregator wrote it.

Times are the aggregator's.
"""

from __future__ import annotations

from dataclasses import dataclass

from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.s3 import ACCESS_KEY, BUCKET, SECRET_KEY
from specfleet_aggregator.promotion.history import History, Promotion, fold
from specfleet_common.judge.records import Records
from specfleet_common.judge.rejudging import live_comparison
from specfleet_common.judge.switchback import counted_blocks, counted_requests
from specfleet_common.store import credentials, evidence
from specfleet_common.store.base import Store
from specfleet_common.store.entries import VersionPublished
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.location import S3Location
from specfleet_common.store.opening import open_store
from specfleet_common.store.versions import lineages

CREDENTIALS = {credentials.ACCESS_KEY: ACCESS_KEY, credentials.SECRET_KEY: SECRET_KEY}
"""The variables of whoever may read the bucket."""

_CANARY = "Canary"


@dataclass(frozen=True, slots=True)
class Course:
    """One candidate, from its version's publication on."""

    published_at: float
    promotion: Promotion

    def __str__(self) -> str:
        """Return it as a sentence."""
        promotion, ended = self.promotion, self.promotion.ended
        steps = [("a candidate", promotion.opened.at)]
        steps += [(step.phase, step.at) for step in promotion.advanced]
        if ended is not None:
            steps.append((ended.outcome, ended.at))
        if promotion.withdrawn is not None:
            steps.append(("withdrawn", promotion.withdrawn.at))
        told = ", ".join(f"{name} after {at - self.published_at:.0f} s" for name, at in steps)
        return f"version {promotion.candidate.number}, seconds since it was persisted: {told}"


def bucket(fleet: Fleet) -> Store:
    """Return the fleet's store."""
    prefix = f"{fleet.namespace}/{fleet.name}"
    location = S3Location(endpoint=fleet.s3.url(), bucket=BUCKET, prefix=prefix)
    return open_store(location, CREDENTIALS)


def lineage(store: Store) -> str:
    """Return the only lineage of a store."""
    (found,) = lineages(store)
    return found


def course(store: Store, number: int) -> Course:
    """Return what became of the candidate with a number."""
    entries = Ledger(store, lineage(store)).entries()
    (published_at,) = {
        entry.at
        for entry in entries
        if isinstance(entry, VersionPublished) and entry.number == number
    }
    promotions = fold(History(), entries).promotions
    (found,) = (one for one in promotions if one.candidate.number == number)
    return Course(published_at, found)


def records(store: Store, promotion: Promotion) -> Records:
    """Return all that was recorded about a candidate before its promotion was over."""
    return evidence.read(store, lineage(store), promotion.id)


def counted(store: Store, promotion: Promotion) -> Records:
    """Return those of a candidate's records of live engines that count in its canary."""
    found = records(store, promotion)
    comparison = live_comparison(promotion.opened, phase=_CANARY, stock_digest="")
    return Records(
        blocks=counted_blocks(comparison.plan, comparison.digests, found.blocks),
        requests=counted_requests(comparison.plan, comparison.digests, found.requests),
    )
