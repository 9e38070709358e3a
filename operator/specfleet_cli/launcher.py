"""Becomes a command that the kernel ends when its parent is gone; run by path, never imported.

A process of its own, because code between fork and exec is not safe in a parent with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Replace this process by a command; the arguments are the parent's id and the command."""
    parent, *command = arguments
    # SIGTERM, so that a process ends what it started; the guard kills what stays.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit("the parent ended before its child began")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
