"""Captured requests in a file: experiments without an engine need one only the first time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from e2e.collecting import Report, collect
from e2e.documents import beginnings, seen, unseen
from e2e.driving import MAX_TOKENS
from specfleet_trainer.sequences import Sequence as Rows

LANGUAGE = "hi"
SENT, HELD_OUT = "sent", "held_out"


def hindi(file: Path, *, report: Report) -> dict[str, list[Rows]]:
    """Return captured Hindi requests, SENT and HELD_OUT; an engine answers them if need be."""
    if not file.exists():
        prompts = {SENT: beginnings(seen(LANGUAGE)), HELD_OUT: beginnings(unseen(LANGUAGE))}
        folder = file.with_suffix("")
        save(file, collect(prompts, folder, max_tokens=MAX_TOKENS, report=report))
    return load(file)


def save(file: Path, captured: Mapping[str, list[Rows]]) -> None:
    """Write requests to a file of plain arrays."""
    arrays: dict[str, np.ndarray] = {}
    for name, requests in captured.items():
        for index, rows in enumerate(requests):
            prefix = f"{name}/{index:06d}"
            arrays[f"{prefix}/tokens"] = rows.tokens
            arrays[f"{prefix}/fed"] = rows.fed
            arrays[f"{prefix}/hidden"] = rows.hidden
            facts = (rows.prompt_tokens, rows.first_position, rows.complete)
            arrays[f"{prefix}/facts"] = np.array(facts, np.int64)
    with file.open("wb") as target:
        np.savez(target, **arrays)  # type: ignore[arg-type]


def load(file: Path) -> dict[str, list[Rows]]:
    """Return the requests in the order in which they were saved."""
    captured: dict[str, list[Rows]] = {}
    with np.load(file) as arrays:
        for key in sorted(name for name in arrays.files if name.endswith("/facts")):
            prefix = key.removesuffix("/facts")
            prompt_tokens, first_position, complete = arrays[key].tolist()
            rows = Rows(
                tokens=arrays[f"{prefix}/tokens"],
                fed=arrays[f"{prefix}/fed"],
                hidden=arrays[f"{prefix}/hidden"],
                prompt_tokens=prompt_tokens,
                first_position=first_position,
                complete=bool(complete),
            )
            captured.setdefault(prefix.partition("/")[0], []).append(rows)
    return captured
