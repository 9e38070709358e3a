"""`specfleet traffic`: drives traffic from the command line; JSON lines out, a table for people."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from specfleet_cli.traffic.driving import Load, Result, Traffic, summary
from specfleet_cli.traffic.prompts import read_documents
from specfleet_cli.traffic.targets import find_engines


async def send_traffic(
    targets: Sequence[str],
    documents_file: Path,
    load: Load,
    *,
    duration_seconds: float | None,
    console: Console,
) -> int:
    """Send traffic, report it; the exit code is 1 after errors or differing answers."""
    documents = read_documents(documents_file)
    engines, reference = await find_engines(targets)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if duration_seconds is not None:
        loop.call_later(duration_seconds, stop.set)
    outcome = await Traffic(engines, documents, load, reference=reference, emit=_print_line).drive(
        stop
    )
    _print_line(summary(outcome))
    console.print(table(outcome))
    return int(outcome.num_errors > 0 or bool(outcome.differences))


def table(outcome: Result) -> Table:
    """Return the result for people."""
    shown = Table(title=f"{outcome.seconds:.0f} s of traffic, compared with {outcome.reference}")
    for column in ("engine", "requests", "errors", "tokens", "tok/s", "acceptance", "different"):
        shown.add_column(column)
    for name, engine in outcome.engines.items():
        length = engine.acceptance_length
        shown.add_row(
            name,
            str(engine.requests),
            ", ".join(f"{count} {kind}" for kind, count in engine.errors.items()) or "0",
            str(engine.tokens),
            f"{engine.tokens_per_second:.0f}",
            "-" if length is None else f"{length:.3f}",
            f"{engine.different} of {engine.compared}",
        )
    return shown


def _print_line(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()
