"""Small values for tests of promotions: what is compared and walked, and what comes of it."""

from __future__ import annotations

from typing import Any

from specfleet_agent.situation import LastStable
from specfleet_agent.switchback import Running
from specfleet_agent.tests.builders import LINEAGE, STOCK_DIGEST, digest, drafter_content, version
from specfleet_common.exchange import Head, Walking
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.lineage import Lineage
from specfleet_common.wire.messages import Comparison, WalkOrders

WALKING = Walking(
    promotion="3-candidate",
    lineage_id=LINEAGE.id,
    candidate=Head(digest(3), "version-3.safetensors"),
    stable=Head(digest(2), "version-2.safetensors"),
    stock_digest=STOCK_DIGEST,
)


def finished_content(
    request: str, *, started: float = 12.5, ended: float | None = None, failed: bool = False
) -> dict[str, Any]:
    """Return what the API server writes of a request, which takes a second by default."""
    return {
        "request": request,
        "started": started,
        "ended": started + 1.0 if ended is None else ended,
        "failed": failed,
        "ttft_seconds": 0.1,
        "tpot_seconds": 0.02,
        "preemptions": 0,
    }


def drafter_of(name: str, *, steps: int) -> dict[str, Any]:
    """Return the counters of a drafter that has verified so often, in batches of one request."""
    return drafter_content(name, bands={1: (steps, 2 * steps, 0.1 * steps)})


def comparison(
    *, trial: int = 3, base: int = 2, elapsed_seconds: float = 0.0, id_: str = "3-candidate"
) -> Comparison:
    """Return a comparison in blocks of ten seconds, of which the first two do not count."""
    return Comparison(
        id=id_,
        seed="seed",
        trial=version(trial),
        base=version(base),
        elapsed_seconds=elapsed_seconds,
        block_seconds=10.0,
        washout_seconds=2.0,
        one_pair_in=1,
    )


def in_force(*, began: float = 0.0, base: int = 2) -> Running:
    """Return that comparison, in force."""
    told = comparison(base=base)
    return Running(told.id, LINEAGE.id, told.plan, told.trial, told.base, "worker-1", began)


def walk_orders(*, candidate: int = 3, stable: int = 2) -> WalkOrders:
    return WalkOrders(f"{candidate}-candidate", version(candidate), version(stable))


def last_stable(number: int = 2, *, lineage: Lineage = LINEAGE) -> LastStable:
    """Return what an agent has noted of a stable version."""
    return LastStable(lineage.id, number, digest(number), lease_seconds=60.0)


def block(number: int) -> Block:
    return Block("worker-1", number, 1, digest(3), 1, 2.0, 20, 10)


def request(name: str) -> Request:
    return Request(name, "worker-1", 12.0, (digest(3),), False, 0.1, 0.02, 0)


def walk(name: str) -> Walk:
    return Walk(name, "conversation", "", 20, 10, 11, 12)
