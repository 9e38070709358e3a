"""Makes engines slow while they run one drafter: what no replay of its drafts can show.

The engine's processes are stopped for a part of the time, as a drafter would whose every draft
takes longer. Neither vLLM nor the plugin knows of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

STOPPED_SECONDS = 0.03
RUNNING_SECONDS = 0.03


async def slow_while(processes: Callable[[], Sequence[int]]) -> None:
    """Stop the given processes half of the time until cancelled; whom, is asked every time."""
    stopped: Sequence[int] = ()
    try:
        while True:
            stopped = processes()
            _signal(stopped, signal.SIGSTOP)
            await asyncio.sleep(STOPPED_SECONDS)
            _signal(stopped, signal.SIGCONT)
            stopped = ()
            await asyncio.sleep(RUNNING_SECONDS)
    finally:
        _signal(stopped, signal.SIGCONT)


def descendants(pid: int) -> tuple[int, ...]:
    """Return a process and all that descend from it."""
    found = [pid]
    for parent in found:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as children:
                    found += map(int, children.read().split())
    return tuple(found)


def _signal(processes: Sequence[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
