"""Which weights the engine should find in its bank. Pure: reading and publishing are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Serve, Situation, Worker
from specfleet_agent.switchback import running
from specfleet_common.exchange import LOCAL_WEIGHTS, version_file
from specfleet_common.lineage import LOCAL, STOCK, short
from specfleet_common.wire.messages import VersionRef

VERSION = "version"


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights for the bank: `label` is stock, version or local; stock lies beside the engine."""

    label: str
    digest: str
    file: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the bank should hold; None leaves in it what is there. The reason is one sentence."""

    weights: Weights | None
    reason: str


def wanted(worker: Worker, seen: Situation, *, now: float) -> Wanted:
    """Say what the bank should hold now."""
    page = seen.page
    if page is None:
        return Wanted(None, "there is no engine yet")
    if worker.serve is Serve.STOCK:
        return Wanted(_stock(page), "this cohort serves stock")
    if worker.serve is Serve.STABLE:
        return _stable(worker, page, seen, now)
    local = _local(seen)
    if local is not None:
        return Wanted(local, "the trainer has newer weights than its base version")
    return _version(page, seen, _base(seen), "base")


def is_due(weights: Weights, page: EnginePage, *, bank_digest: str | None) -> bool:
    """Say whether the weights must be published; `bank_digest` is None while the bank is empty.

    An engine with an empty bank runs what it was started with, unless a bank has vanished.
    """
    if bank_digest is not None:
        return bank_digest != weights.digest
    return not (weights.label == STOCK and page.runs_stock)


def _stock(page: EnginePage) -> Weights:
    return Weights(STOCK, page.stock_digest, page.stock_file)


def _stable(worker: Worker, page: EnginePage, seen: Situation, now: float) -> Wanted:
    """Say what to serve in place of stable while the lease lasts, else stable."""
    if seen.answer is None:
        return _remembered(page, seen, now)
    answer = seen.leased(now)
    if answer is None:
        return _version(page, seen, seen.answer.stable, "stable", "the lease has ended, ")
    comparison = running(worker, seen, now=now)
    if comparison is not None:
        block = comparison.block(now)
        arm = comparison.arm(block).lower()
        return _version(page, seen, comparison.version(block), arm, f"in block {block} ")
    if answer.serve is not None and seen.has(answer.serve):
        return _version(page, seen, answer.serve, "assigned")
    return _version(page, seen, answer.stable, "stable")


def _remembered(page: EnginePage, seen: Situation, now: float) -> Wanted:
    """Leave the bank as it is after a start; not for longer, because it may hold a candidate."""
    stable = seen.files.stable
    if stable is None or stable.lineage_id != page.lineage.id:
        return Wanted(None, "the aggregator has not named a stable version yet")
    if now - seen.started_at <= stable.lease_seconds:
        return Wanted(None, "the aggregator has not answered since the start")
    version = VersionRef(stable.number, stable.digest, size_bytes=0)
    return _version(page, seen, version, "stable", "without an answer since the start, ")


def _version(
    page: EnginePage, seen: Situation, version: VersionRef | None, role: str, when: str = ""
) -> Wanted:
    if version is None:
        return Wanted(None, f"{when}there is no {role} version yet")
    if version.digest == page.stock_digest:
        return Wanted(_stock(page), f"{when}the {role} version is stock")
    if not seen.has(version):
        return Wanted(None, f"version {version.number} ({short(version.digest)}) is not here yet")
    weights = Weights(VERSION, version.digest, version_file(version.number))
    return Wanted(weights, f"{when}the {role} version is {version.number}")


def _base(seen: Situation) -> VersionRef | None:
    """Return the version of the open round: as last heard, else as last written to the trainer."""
    if seen.answer is not None:
        return seen.answer.base
    orders = seen.files.orders
    if orders is None or seen.page is None or orders.lineage_id != seen.page.lineage.id:
        return None
    return VersionRef(orders.version, orders.digest, size_bytes=0)


def _local(seen: Situation) -> Weights | None:
    """Return the trainer's own weights if they grew from the version of the open round.

    Those of an earlier attempt do not count: their delta was refused.
    """
    page, orders, report, base = seen.page, seen.files.orders, seen.files.report, _base(seen)
    if page is None or orders is None or report is None or base is None:
        return None
    if not report.local_digest or orders.digest != base.digest:
        return None
    if (page.lineage.id, page.lineage.id) != (orders.lineage_id, report.lineage_id):
        return None
    ordered = (orders.round, orders.version, orders.attempt)
    if (report.round, report.version, report.attempt) != ordered:
        return None
    return Weights(LOCAL, report.local_digest, LOCAL_WEIGHTS)
