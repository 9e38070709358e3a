"""One child process at a time, and orphans between them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from specfleet_cli.children import Child, Guard

ENDS = (sys.executable, "-I", "-S", "-c", "raise SystemExit(3)")


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.finish()


@pytest.fixture
def child(guard: Guard, tmp_path: Path) -> Child:
    """Return a child that has ended, but nobody has waited for it."""
    child = Child.start(ENDS, environment=os.environ, log=tmp_path / "log", guard=guard)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


@pytest.fixture
def orphan() -> int:
    """Return what has ended and is no subprocess: as foreign to this process as an orphan."""
    pid = os.posix_spawn(sys.executable, ENDS, os.environ)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


async def test_stopping_a_process_that_has_just_ended_is_no_mistake(child: Child) -> None:
    await child.stop(grace_seconds=5.0)

    assert await child.wait() == 3


async def test_orphans_are_reaped_and_exit_codes_of_children_are_kept(
    child: Child, orphan: int, guard: Guard
) -> None:
    guard.reap()

    assert not Path(f"/proc/{orphan}").exists()
    assert await child.wait() == 3
    await child.end_group()
