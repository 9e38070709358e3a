"""Leaving the machine to the engine: what the trainer asks of the kernel's scheduler.

To be called before there are threads, which inherit it, but after what takes long to import.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

NICENESS = 10
"""A tenth of a core that an engine wants as well: enough to learn where there are no spare cores,
while the lowest priority would let a busy engine starve the trainer."""
AUTOGROUP = Path("/proc/self/autogroup")


def yield_to_others(*, cores: Collection[int], autogroup: Path = AUTOGROUP) -> None:
    """Run mostly when others do not want to, and on these cores only; on any when none are given.

    Where the kernel groups processes by session, nice counts within a group, and the group has a
    weight of its own. A container may forbid changing that, and not every kernel has it.
    """
    # Who was started with an even lower priority may not raise it.
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with contextlib.suppress(OSError):
        autogroup.write_text(str(NICENESS))
    if cores:
        os.sched_setaffinity(0, cores)
