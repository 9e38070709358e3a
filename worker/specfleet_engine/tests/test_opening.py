"""What an engine shares with its sidecar, and what it says when there is no room for it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from specfleet_common.lineage import Lineage
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import RING_FILE, page_file
from specfleet_common.shm.pages import PageReader
from specfleet_engine.counters import KEPT_DRAFTERS, Counters, Work
from specfleet_engine.opening import PAGE_BYTES, SharedMemoryFull, open_session, say_why
from specfleet_engine.proposing import KEPT_REQUESTS, MOST_DRAFTERS, Proposers
from specfleet_engine.request_names import LONGEST
from specfleet_engine.settings import Settings

LINEAGE = Lineage("1" * 64, "mtp", "mimo", "float32", "2" * 64)
LAYOUT = Layout(
    "mtp", "mimo", LINEAGE.id, hidden_size=4, hidden_dtype="float32", num_speculative_tokens=2
)


class Weights:
    """A drafter that is never exchanged; writing it fails with `error`."""

    digest = stock_digest = "3" * 64

    def __init__(self, error: OSError | None = None) -> None:
        self._error = error

    @property
    def stock(self) -> bytes:
        if self._error is not None:
            raise self._error
        return b"stock"

    def stage(self, data: bytes, digest: str) -> bytes:
        return data

    def apply(self, staged: bytes) -> None:
        """Leave them as they are."""

    def holds_what_it_should(self) -> bool:
        return True


def opened(settings: Settings, weights: Weights | None = None) -> None:
    open_session(settings, layout=LAYOUT, lineage=LINEAGE, live=weights or Weights(), rank=0)


def test_what_is_shared_is_there_when_the_session_is(tmp_path: Path) -> None:
    opened(Settings(tmp_path / "shm", "demo", ring_bytes=1 << 16))

    assert (tmp_path / "shm" / RING_FILE).exists()
    assert (tmp_path / "shm" / page_file(0)).exists()


def test_too_little_room_is_told_with_the_field_that_gives_more(tmp_path: Path) -> None:
    full = Weights(OSError(errno.ENOSPC, "No space left on device"))

    with pytest.raises(SharedMemoryFull, match=r"raise spec\.engine\.sharedMemory: .*No space"):
        opened(Settings(tmp_path, "demo"), full)


def test_other_trouble_with_files_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(PermissionError):
        opened(Settings(tmp_path, "demo"), Weights(PermissionError(errno.EACCES, "no")))


def test_the_reason_lies_on_the_page_however_long_it_is(tmp_path: Path) -> None:
    say_why(Settings(tmp_path, "demo"), 0, ValueError("\U0001f600" * 100_000))

    content = PageReader.attach(tmp_path / page_file(0)).read()
    assert content is not None
    assert content["reason"].startswith("ValueError: \U0001f600")


def test_an_engine_that_cannot_even_say_why_serves_on(tmp_path: Path) -> None:
    (tmp_path / "shm").write_bytes(b"a file in the place of the directory")

    say_why(Settings(tmp_path / "shm", "demo"), 0, ValueError("no drafter"))


def test_the_page_has_room_for_the_most_that_can_be_told() -> None:
    depths, bands, many = 32, 12, 10**12
    counters, proposers = Counters(depths), Proposers()
    for version in range(KEPT_DRAFTERS):
        drafter = counters.of(f"{version:064x}")
        drafter.drafted = drafter.accepted = np.full(depths, many, np.int64)
        drafter.bands = {band: Work(many, many, many / 7) for band in range(1, bands + 1)}
    for number in range(KEPT_REQUESTS):
        proposers.begins("now", f"{number}".ljust(LONGEST, "x"))
        for version in range(MOST_DRAFTERS):
            proposers.proposed(["now"], f"{version:064x}")
        proposers.ends("now", at=1e9 / 3)

    told = json.dumps([counters.snapshot(), proposers.snapshot()], separators=(",", ":"))

    assert len(told) < 0.95 * PAGE_BYTES
