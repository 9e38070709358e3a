"""Small values for tests: one engine, its drafters, and what its aggregator and trainer say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from specfleet_agent.engine_page import EnginePage, decode
from specfleet_agent.situation import Anchor, Files, Reply, Serve, Situation, Worker
from specfleet_common.exchange import Orders, TrainerReport, version_file
from specfleet_common.lineage import Lineage, shapes_digest
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.pages import PageWriter
from specfleet_common.shm.ring import RingWriter
from specfleet_common.tensors import content_digest, encode
from specfleet_common.wire.messages import (
    Comparison,
    HeartbeatReply,
    TrainingOrders,
    VersionRef,
    WalkOrders,
)

SHAPES = {"model.mtp_layers.0.input_proj.weight": (4, 8), "model.mtp_layers.0.norm.weight": (4,)}
LINEAGE = Lineage("1" * 64, "mtp", "mimo", "float32", shapes_digest(SHAPES))
OTHER_LINEAGE = Lineage("2" * 64, "mtp", "mimo", "float32", shapes_digest(SHAPES))
TRAINING = TrainingOrders(
    local_steps=10,
    learning_rate=1e-3,
    depth_weights=(1.0, 0.5),
    rows_per_step=64,
    publish_every_steps=5,
)


def weights(seed: int) -> bytes:
    """Return the safetensors bytes of a drafter."""
    random = np.random.default_rng(seed)
    return encode({n: random.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()})


@cache
def digest(seed: int) -> str:
    return content_digest(weights(seed))


STOCK_DIGEST = digest(0)


def version(number: int) -> VersionRef:
    """Return version `number`; 0 is stock."""
    return VersionRef(number, digest(number), len(weights(number)))


def worker(*, serve: Serve = Serve.STABLE, trains: bool = True) -> Worker:
    return Worker("worker-1", "main", trains, serve)


def page_content(
    *,
    lineage: Lineage = LINEAGE,
    observed: str = "stock",
    observed_digest: str = STOCK_DIGEST,
    bank_sequence: int = 0,
    drafters: tuple[Mapping[str, Any], ...] = (),
    requests: tuple[Mapping[str, Any], ...] = (),
    incarnation: str = "0123456789abcdef",
    beats: int = 1,
    swaps: int = 3,
) -> dict[str, Any]:
    """Return what the engine writes on its page."""
    return {
        "incarnation": incarnation,
        "beats": beats,
        "rows": {"hidden_size": 4, "hidden_dtype": "float32", "num_speculative_tokens": 2},
        "lineage": {
            "target_digest": lineage.target_digest,
            "family": lineage.family,
            "layout": lineage.layout,
            "dtype": lineage.dtype,
            "shapes_digest": lineage.shapes_digest,
        },
        "stock_digest": STOCK_DIGEST,
        "stock_file": "stock.safetensors",
        "observed": observed,
        "observed_digest": observed_digest,
        "bank_sequence": bank_sequence,
        "swaps": swaps,
        "refused_banks": {"weights": 2},
        "capture": {"taken_rows": 7, "dropped_records": 1, "skipped_steps": 0, "followed": 4},
        "drafters": list(drafters),
        "requests": list(requests),
        "adapting": True,
        "reason": "",
    }


def page(**content: Any) -> EnginePage:
    """Return the page with what `page_content` makes of these."""
    return decode(page_content(**content))


def drafter_content(
    name: str, *, bands: Mapping[int, tuple[int, int, float]] | None = None
) -> dict[str, Any]:
    """Return a drafter's counters; `bands` has verify steps, tokens and busy seconds of each."""
    counted = [
        {"band": band, "verify_steps": steps, "output_tokens": tokens, "busy_seconds": seconds}
        for band, (steps, tokens, seconds) in (bands or {}).items()
    ]
    return {
        "digest": name,
        "verify_steps": 5,
        "drafted": [5, 4],
        "accepted": [3, 1],
        "output_tokens": 9,
        "busy_seconds": 0.5,
    } | ({} if bands is None else {"bands": counted})


def answer(
    *,
    round_: int = 3,
    base: VersionRef | None = None,
    stable: VersionRef | None = None,
    stock_wanted: bool = False,
    delta_counted: bool = False,
    heartbeat_seconds: float = 1.0,
    serve: VersionRef | None = None,
    comparison: Comparison | None = None,
    walk: WalkOrders | None = None,
) -> HeartbeatReply:
    return HeartbeatReply(
        stock_wanted=stock_wanted,
        round=round_,
        base=base,
        stable=stable,
        orders=TRAINING,
        delta_counted=delta_counted,
        lease_seconds=60.0,
        heartbeat_seconds=heartbeat_seconds,
        serve=serve,
        comparison=comparison,
        walk=walk,
    )


def orders(*, round_: int = 3, number: int = 3, lineage: Lineage = LINEAGE) -> Orders:
    return Orders(
        lineage_id=lineage.id,
        dtype=lineage.dtype,
        round=round_,
        version=number,
        digest=digest(number),
        base_file=version_file(number),
        local_steps=TRAINING.local_steps,
        learning_rate=TRAINING.learning_rate,
        depth_weights=TRAINING.depth_weights,
        rows_per_step=TRAINING.rows_per_step,
        publish_every_steps=TRAINING.publish_every_steps,
    )


def report(
    *,
    round_: int = 3,
    number: int = 3,
    lineage: Lineage = LINEAGE,
    local_digest: str = "",
    delta_digest: str = "",
) -> TrainerReport:
    """Return a report; with a `delta_digest` it says that the round's delta is there."""
    return TrainerReport(
        pid=42,
        phase="delivered" if delta_digest else "training",
        lineage_id=lineage.id,
        round=round_,
        version=number,
        local_steps=6,
        total_steps=36,
        positions=640,
        positions_per_second=12.5,
        loss=(2.0, 3.0),
        requests=9,
        local_digest=local_digest,
        delta_round=round_ if delta_digest else 0,
        delta_digest=delta_digest,
        delta_positions=600 if delta_digest else 0,
    )


def seen(
    reply: HeartbeatReply | None,
    files: Files | None = None,
    *,
    engine: EnginePage | None = None,
    lineage: Lineage = LINEAGE,
    asked_at: float = 100.0,
    started_at: float = 0.0,
) -> Situation:
    """Return a situation with an engine; `lineage` is the one that the reply is about.

    A comparison in the reply has begun so many seconds before it was asked for.
    """
    anchor = None
    if reply is not None and reply.comparison is not None:
        anchor = Anchor(reply.comparison.id, asked_at - reply.comparison.elapsed_seconds)
    return Situation(
        page=engine or page(),
        reply=None if reply is None else Reply(lineage.id, reply, asked_at, anchor),
        files=files or Files(),
        started_at=started_at,
    )


def holding(*numbers: int) -> dict[int, str]:
    """Return the versions of a volume that holds these."""
    return {number: digest(number) for number in numbers}


def layout(lineage: Lineage = LINEAGE) -> Layout:
    return Layout("mtp", "mimo", lineage.id, 4, "float32", 2)


def start_engine(shared: Path, *, lineage: Lineage = LINEAGE) -> PageWriter:
    """Leave in `shared` what an engine leaves there when it starts."""
    (shared / "stock.safetensors").write_bytes(weights(0))
    RingWriter.create(shared / "capture.ring", layout(lineage), 1 << 16)
    writer = PageWriter.create(shared / "rank-0.page")
    writer.write(page_content(lineage=lineage))
    return writer
