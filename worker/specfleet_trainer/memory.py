"""Keeping freed memory for the next step, which needs as much again.

By default large blocks go back to the kernel at once, and getting them again means clearing every
page of them: an eighth of a step's time.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST = (1 << 31) - 1


def keep_freed_memory() -> None:
    """Have the C library keep what this process frees; the peak stays what it is."""
    library = ctypes.CDLL(None)
    for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
        library.mallopt(option, _LARGEST)
