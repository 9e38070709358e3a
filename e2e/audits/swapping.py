"""Weights that change in an engine while it answers, through the bank as an agent would do it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

from e2e.engines import Engine
from e2e.sabotage import damaged
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.tensors import content_digest, decode, encode


@dataclass(slots=True)
class Swaps:
    """How often other weights were put in and seen at work."""

    number: int = 0


def stock_of(engine: Engine) -> bytes:
    """Return the drafter that the engine was shipped with."""
    return (engine.shm / STOCK_FILE).read_bytes()


def drafters_of(engine: Engine) -> list[bytes]:
    """Return two damaged drafters and stock: all draft differently."""
    stock = stock_of(engine)
    weights = decode(stock)
    return [*(encode(damaged(weights, seed=seed)) for seed in (1, 2)), stock]


@contextmanager
def swapping(engine: Engine, drafters: Sequence[bytes]) -> Iterator[Swaps]:
    """Put in one drafter after the other for the time of a `with` block, and the last at its end.

    The next one goes in as soon as the engine has reported the one before.
    """
    swaps, over = Swaps(), threading.Event()
    named = [(weights, content_digest(weights)) for weights in drafters]

    def swap() -> None:
        for weights, digest in cycle(named):
            if over.is_set():
                return
            engine.publish(weights, digest, "version")
            swaps.number += 1

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(swap)
        try:
            yield swaps
        finally:
            over.set()
        working.result()
        engine.publish(*named[-1], "version")
