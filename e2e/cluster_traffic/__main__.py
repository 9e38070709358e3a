"""`python3 -m e2e.cluster_traffic --url http://fleet:8000`: records on stdout until SIGTERM.

Every line is one JSON object: a request that has ended, or up to when all requests have.
`records.read_log` reads them, `windows` and `judging` say what they show.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster_traffic.driving import DOCUMENTS, Driving, Load
from e2e.cluster_traffic.records import line, settled_line
from specfleet_cli.traffic.prompts import read_documents

SETTLED_EVERY_SECONDS = 1.0


def main(arguments: Sequence[str]) -> int:
    """Send traffic until SIGTERM, SIGINT or the end of --duration."""
    usual = Load()
    parser = argparse.ArgumentParser(prog="e2e.cluster_traffic", description=__doc__)
    parser.add_argument("--url", required=True, help="base URL of the fleet's Service")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--clients", type=int, help="clients that ask one after the other, default 8")
    how.add_argument("--rate", type=float, help="requests a second, whatever the answers do")
    parser.add_argument("--duration", type=float, help="seconds, default until SIGTERM")
    parser.add_argument("--max-tokens", type=int, default=usual.max_tokens)
    parser.add_argument("--prompts", type=int, default=usual.distinct_prompts)
    parser.add_argument("--timeout", type=float, default=usual.timeout_seconds)
    parser.add_argument("--documents", type=Path, help="JSONL file to cut prompts from")
    given = parser.parse_args(arguments)
    load = Load(
        clients=None if given.rate else given.clients or usual.clients,
        rate_per_second=given.rate,
        max_tokens=given.max_tokens,
        distinct_prompts=given.prompts,
        timeout_seconds=given.timeout,
    )
    documents = DOCUMENTS if given.documents is None else read_documents(given.documents)
    driving = Driving(
        given.url, load, emit=lambda record: _print(line(record)), documents=documents
    )
    asyncio.run(_drive(driving, given.duration))
    return 0


async def _drive(driving: Driving, duration_seconds: float | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if duration_seconds is not None:
        loop.call_later(duration_seconds, stop.set)
    telling = asyncio.create_task(_keep_telling(driving))
    await driving.drive(stop)
    telling.cancel()
    _print(settled_line(driving.settled()))


async def _keep_telling(driving: Driving) -> None:
    while True:
        await asyncio.sleep(SETTLED_EVERY_SECONDS)
        _print(settled_line(driving.settled()))


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
