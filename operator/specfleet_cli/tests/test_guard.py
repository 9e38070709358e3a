"""Shared memory of processes that have to be killed is found and removed."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from specfleet_cli.guard import remove, shared_memory_of


def test_the_shared_memory_of_a_group_is_found() -> None:
    memory = SharedMemory(create=True, size=4096)

    found = shared_memory_of(os.getpgid(0))

    memory.close()
    memory.unlink()
    assert Path("/dev/shm") / memory.name in found


def test_a_group_without_shared_memory_has_none() -> None:
    with subprocess.Popen(
        [sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        found = shared_memory_of(process.pid)

    assert found == set()


def test_what_is_left_is_removed_even_when_some_is_gone(tmp_path: Path) -> None:
    (tmp_path / "left").write_bytes(b"x")

    remove({tmp_path / "left", tmp_path / "gone"})

    assert list(tmp_path.iterdir()) == []
