"""Whom to kill and when. Pure: the same seed kills the same processes in the same order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from e2e.soak.processes import AGENT, AGGREGATOR, ENGINE, TRAINER

OF_A_WORKER = (TRAINER, AGENT, ENGINE)


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, so long after the one before is over; `worker` is empty for the aggregator."""

    after_seconds: float
    victim: str
    worker: str = ""


def kills(workers: Sequence[str], *, every_seconds: float, seed: int) -> Iterator[Kill]:
    """Return kills for ever: everybody's turn comes before anybody's second.

    `workers` are those that are killed at all; who lives through the whole run shows leaks best.
    """
    chance = random.Random(seed)
    victims = [(AGGREGATOR, ""), *((kind, name) for name in workers for kind in OF_A_WORKER)]
    while True:
        chance.shuffle(victims)
        for victim, worker in victims:
            yield Kill(every_seconds * chance.uniform(0.5, 1.5), victim, worker)
