"""Children that have ended: a process's own, and orphans that the kernel hands over to it.

For processes that are PID 1 of a container, or ask the kernel for the same role. Linux only.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterable

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make the kernel hand over orphaned descendants to this process, as it does to PID 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def reap(own: Iterable[subprocess.Popen[bytes] | subprocess.Popen[str]]) -> int:
    """Wait for every child that has ended, and return how many were orphans.

    Those in `own` are reaped through their handles, so that their status is not lost to them.
    """
    # The kernel may give the number of a process that was reaped to another.
    handles = {process.pid: process for process in own if process.returncode is None}
    orphans = 0
    while (pid := _ended_child()) is not None:
        if pid in handles:
            handles.pop(pid).poll()
            continue
        os.waitpid(pid, os.WNOHANG)
        orphans += 1
    return orphans


def _ended_child() -> int | None:
    try:
        # WNOWAIT leaves the child waitable: whose it is must be known before it is reaped.
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if ended is None else ended.si_pid
