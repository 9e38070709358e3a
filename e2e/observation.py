"""One round of traffic to an engine with the plugin, and what it showed of the drafter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from e2e.engines import Answer, Engine
from specfleet_trainer.sequences import Sequence as Rows

MAX_TOKENS = 48


@dataclass(frozen=True, slots=True)
class Observation:
    """What one round of traffic showed."""

    answers: list[Answer]
    rows: list[Rows]
    acceptance_length: float


def observe(engine: Engine, prompts: Sequence[str]) -> Observation:
    """Send the prompts once; the acceptance length is that of the drafter now live."""
    before = engine.page()
    answers = engine.complete(prompts, max_tokens=MAX_TOKENS)
    rows = engine.captured(requests=len(prompts))
    wanted = before["capture"]["taken_rows"] + sum(row.rows for row in rows)
    after = engine.wait(
        lambda page: page["capture"]["taken_rows"] >= wanted and not page["capture"]["followed"],
        what=f"{wanted} rows captured",
    )
    steps, accepted = (new - old for new, old in zip(counted(after), counted(before), strict=True))
    return Observation(answers, rows, 1 + accepted / steps)


def counted(page: dict[str, Any]) -> tuple[int, int]:
    """Return verify steps and accepted tokens of all drafters together."""
    return (
        sum(drafter["verify_steps"] for drafter in page["drafters"]),
        sum(sum(drafter["accepted"]) for drafter in page["drafters"]),
    )


def changed(before: Observation, after: Observation) -> bool:
    """Say whether another drafter is at work: its acceptance length is not the same."""
    return abs(after.acceptance_length / before.acceptance_length - 1) > 0.15
