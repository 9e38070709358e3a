"""A pretended engine and agent: fill the ring, write versions and orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specfleet_common import exchange, tensors
from specfleet_common.codecs.codec import Codec
from specfleet_common.exchange import Head, Orders, Walking
from specfleet_common.files import write_file
from specfleet_common.shm.capture import (
    BEGIN,
    END,
    STEP,
    Begin,
    End,
    Step,
    encode_begin,
    encode_end,
    encode_step,
)
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.heads import new_head
from specfleet_trainer.sequences import Sequence
from specfleet_trainer.tests.builders import CONFIG, HIDDEN, random_weights, sequence

DEPTHS = 2
LINEAGE = "0123456789abcdef"


def layout(lineage_id: str = LINEAGE) -> Layout:
    return Layout(
        family="mtp",
        layout="mimo",
        lineage_id=lineage_id,
        hidden_size=HIDDEN,
        hidden_dtype="float32",
        num_speculative_tokens=DEPTHS,
    )


def new_ring(shared: Path, lineage_id: str = LINEAGE, capacity_bytes: int = 1 << 20) -> RingWriter:
    shared.mkdir(exist_ok=True)
    return RingWriter.create(shared / "capture.ring", layout(lineage_id), capacity_bytes)


def begin(writer: RingWriter, item: Sequence) -> None:
    record = Begin(
        serial=item.serial,
        key=item.key,
        held_out=item.held_out,
        complete=item.complete,
        prompt_tokens=item.prompt_tokens,
    )
    assert writer.write(BEGIN, encode_begin(record))


def rows(writer: RingWriter, item: Sequence, start: int, stop: int) -> None:
    step = Step(
        number=0,
        digest="stock",
        serials=np.array([item.serial], np.uint64),
        first=np.array([0], np.uint32),
        rows=np.array([stop - start], np.uint32),
        drafts=np.full((1, DEPTHS), -1, np.int32),
        tokens=item.tokens[start:stop],
        fed=item.fed[start:stop],
        positions=np.arange(start, stop, dtype=np.int32),
        hidden=item.hidden[start:stop],
    )
    assert writer.write(STEP, encode_step(step))


def end(writer: RingWriter, item: Sequence) -> None:
    record = End(serial=item.serial, length=item.rows + 1, reason="finished")
    assert writer.write(END, encode_end(record))


def serve(writer: RingWriter, count: int, *, first: int = 0, held_out: bool = False) -> None:
    """Write `count` finished requests of 20 rows, 4 of them of the prompt."""
    for serial in range(first, first + count):
        item = sequence(rows=20, seed=serial, prompt_tokens=4, held_out=held_out)
        serve_one(writer, item)


def serve_one(writer: RingWriter, item: Sequence) -> None:
    """Write a finished request in two steps."""
    begin(writer, item)
    rows(writer, item, 0, 4)
    rows(writer, item, 4, item.rows)
    end(writer, item)


def give_orders(
    state: Path,
    *,
    round_: int = 0,
    lineage_id: str = LINEAGE,
    local_steps: int = 5,
    publish_every_steps: int = 0,
    digest: str | None = None,
    codec: Codec = Codec.FLOAT32,
    counted_version: int = 0,
    attempt: int = 0,
    fresh: int = 0,
) -> Orders:
    """Write a version with weights of its own and orders to train from it."""
    state.mkdir(exist_ok=True)
    head = new_head("mtp", "mimo", CONFIG)
    data = tensors.encode(random_weights(head, seed=100 + round_), "bfloat16")
    (state / exchange.version_file(round_)).write_bytes(data)
    orders = Orders(
        lineage_id=lineage_id,
        dtype="bfloat16",
        round=round_,
        version=round_,
        digest=digest or tensors.content_digest(data),
        base_file=exchange.version_file(round_),
        local_steps=local_steps,
        learning_rate=1e-3,
        depth_weights=(1.0, 0.5),
        rows_per_step=64,
        publish_every_steps=publish_every_steps,
        codec=codec,
        counted_version=counted_version,
        attempt=attempt,
        fresh=fresh,
    )
    exchange.write_message(state / exchange.ORDERS, orders)
    return orders


def give_walking(
    state: Path, shared: Path, *, promotion: str = "7-candidate", candidate_seed: int = 7
) -> Walking:
    """Write a candidate, a stable head and stock, and say that they are to be walked."""
    wanted = Walking(
        promotion=promotion,
        lineage_id=LINEAGE,
        candidate=_write_head(state / f"version-{candidate_seed}.safetensors", candidate_seed),
        stable=_write_head(state / "version-3.safetensors", 3),
        stock_digest=_write_head(shared / STOCK_FILE, 1).digest,
    )
    exchange.write_message(state / exchange.WALKING, wanted)
    return wanted


def _write_head(path: Path, seed: int) -> Head:
    data = tensors.encode(random_weights(new_head("mtp", "mimo", CONFIG), seed), "bfloat16")
    write_file(path, data)
    return Head(tensors.content_digest(data), path.name)
