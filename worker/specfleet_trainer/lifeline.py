"""Ending with the parent: a trainer without its agent would train for nobody."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent_pid: int) -> bool:
    """Have the kernel kill this process when its parent ends; False when that has happened.

    SIGKILL, because it needs nothing of a process that may hang; the state on disk is complete.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl(PR_SET_PDEATHSIG): {os.strerror(error)}")
    return os.getppid() == parent_pid
