"""What a fleet has in its store is damaged while it learns under traffic."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.failures.history import History
from e2e.failures.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

LONG = pytest.mark.long
"""One of each kind is enough where time is short."""


@contextmanager
def restarting(fleet: Story) -> Iterator[History]:
    """Have the aggregator stand still for the time of a `with` block, and kill it at the end."""
    pid = fleet.now().aggregator.pid
    assert pid is not None, "the aggregator does not run"
    os.kill(pid, signal.SIGSTOP)
    try:
        yield fleet.history()
    finally:
        os.kill(pid, signal.SIGKILL)


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize(
    ("what", "damage"),
    [
        pytest.param("drafter-*.safetensors", flip_a_bit, id="drafter-changed"),
        pytest.param("manifest.json", truncate, id="manifest-truncated", marks=LONG),
        pytest.param("drafter-*.safetensors", truncate, id="drafter-truncated", marks=LONG),
        pytest.param("outer-*.safetensors", flip_a_bit, id="outer-changed", marks=LONG),
        pytest.param("outer-*.safetensors", truncate, id="outer-truncated", marks=LONG),
        pytest.param("manifest.json", flip_a_bit, id="manifest-changed", marks=LONG),
    ],
)
async def test_a_damaged_version_is_left_out_and_its_number_is_not_used_again(
    fleet: Story, what: str, damage: Callable[[Path], None]
) -> None:
    async with fleet.surviving(f"{what} damaged"):
        # Whatever was damaged before: the newest two are whole.
        await fleet.next_version(more=2)
        with restarting(fleet) as before:
            damaged = max(before.versions)
            (file,) = fleet.files(f"{before.lineage_id}/versions/{damaged}/{what}")
            damage(file)
        await fleet.until(lambda: damaged + 1 in fleet.history().versions, "the next version")
        following = fleet.history().versions[damaged + 1]

    told = [line for line in fleet.log("aggregator").splitlines() if f"version {damaged} " in line]
    assert following.parent == damaged - 1
    assert told, fleet.log("aggregator")[-2000:]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(flip_a_bit, id="changed"),
        pytest.param(truncate, id="truncated", marks=LONG),
    ],
)
async def test_a_damaged_ledger_is_waited_for_and_nothing_is_decided(
    fleet: Story, damage: Callable[[Path], None]
) -> None:
    async with fleet.surviving("ledger damaged"):
        with restarting(fleet) as before:
            file = max(
                fleet.files(f"{before.lineage_id}/ledger/*.json"), key=lambda one: int(one.stem)
            )
            whole = file.read_bytes()
            damage(file)
        try:
            await fleet.until(lambda: f"ledger/{file.name}" in fleet.store_error, "told of it")
            waiting = fleet.state
        finally:
            file.write_bytes(whole)

    assert waiting.reason == "waiting for the store"
