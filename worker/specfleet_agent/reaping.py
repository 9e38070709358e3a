"""Children of the agent that have ended: the trainer, and orphans that the kernel hands over.

The agent is the sidecar's PID 1; elsewhere it asks the kernel for the same role.
"""

from __future__ import annotations

import ctypes
import os
import subprocess

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make the kernel hand over orphaned descendants to this process, as it does to PID 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def reap(own: subprocess.Popen[bytes] | None) -> int:
    """Wait for every child that has ended, and return how many were orphans.

    `own` is reaped through its handle, so that its status is not lost to it.
    """
    orphans = 0
    while (pid := _ended_child()) is not None:
        if own is not None and pid == own.pid:
            own.poll()
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
