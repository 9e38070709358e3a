"""Requests as the trainer gets them: answered by one real engine, captured, and joined.

The outputs of the target do not depend on its drafter, so what is collected once serves to compare
any number of heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from e2e.engines import Engine, running_engine
from specfleet_trainer.sequences import Sequence as Rows

BATCH = 32
"""Prompts between two looks into the ring: their rows fit into it many times."""

Report = Callable[[str, int, int], None]
"""Called with a name, and how many of how many prompts under it are answered."""


def collect(
    prompts: Mapping[str, Sequence[str]],
    folder: Path,
    *,
    max_tokens: int,
    report: Report = lambda name, done, of: None,
) -> dict[str, list[Rows]]:
    """Start an engine in `folder` and return what it captured, under the names of the prompts."""
    folder.mkdir(parents=True, exist_ok=True)
    # A cached prefix has no hidden states.
    with running_engine(folder, "--no-enable-prefix-caching") as engine:
        return {
            name: collect_from(
                engine,
                some,
                max_tokens=max_tokens,
                report=lambda done, of, name=name: report(name, done, of),  # type: ignore[misc]
            )
            for name, some in prompts.items()
        }


def collect_from(
    engine: Engine,
    prompts: Sequence[str],
    *,
    max_tokens: int,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> list[Rows]:
    """Return one sequence for each prompt, in the order in which the requests ended."""
    rows: list[Rows] = []
    for start in range(0, len(prompts), BATCH):
        batch = prompts[start : start + BATCH]
        engine.complete(batch, max_tokens=max_tokens)
        captured = engine.captured(requests=len(batch))
        assert len(captured) == len(batch), f"{len(captured)} of {len(batch)} requests captured"
        rows += captured
        report(len(rows), len(prompts))
    return rows
