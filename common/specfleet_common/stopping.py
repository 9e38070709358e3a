"""Ends a process that is told to stop before it has a way of its own to do so.

PID 1 of a container does not get a signal that it has no handler for: told to stop while it still
loads its modules, it would hear nothing and be killed when the time of its pod is up.
"""

from __future__ import annotations

import os
import signal
from types import FrameType


def stop_when_told() -> None:
    """End at SIGTERM from now on; whoever has something to finish installs another handler."""
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: FrameType | None) -> None:
    # An exception would end up in whatever module is being loaded.
    os._exit(0)
