"""The memory of another process over time, as the kernel counts it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.02


@dataclass(slots=True)
class Peak:
    """The most that was resident. Pages of files count only as long as nobody needs the room."""

    resident_bytes: int = 0
    """Since the process started."""
    anonymous_bytes: int = 0
    """Without pages of files; of samples."""

    def take(self, status: str) -> None:
        """Take the text of /proc/<pid>/status in; one that has ended has no memory."""
        fields = dict(line.split(":", 1) for line in status.splitlines())
        if "VmHWM" in fields:
            self.resident_bytes = max(self.resident_bytes, _bytes(fields["VmHWM"]))
            self.anonymous_bytes = max(self.anonymous_bytes, _bytes(fields["RssAnon"]))


@contextmanager
def watching(pid: int) -> Iterator[Peak]:
    """Sample a process for the time of a `with` block."""
    peak, over = Peak(), threading.Event()
    path = Path(f"/proc/{pid}/status")

    def sample() -> None:
        while not over.wait(SAMPLE_SECONDS):
            peak.take(path.read_text(encoding="utf-8"))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _bytes(text: str) -> int:
    """Return the bytes of a value such as ` 1234 kB`."""
    return int(text.removesuffix("kB")) << 10
