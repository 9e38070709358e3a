"""The aggregator of a fleet under traffic cannot be reached, or is there twice."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from e2e.failures.rival import rival
from e2e.failures.story import Story

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

_NO_SERVICE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@contextmanager
def in_its_place(fleet: Story, answer: bytes | None) -> Iterator[None]:
    """Kill the aggregator, and keep its port for the time of a `with` block.

    Callers get an answer that is not an aggregator's, or are refused when there is none.
    """
    host, _, port = fleet.fleet.aggregator_address.rpartition(":")
    pid = fleet.now().aggregator.pid
    assert pid is not None, "the aggregator does not run"
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        os.kill(pid, signal.SIGKILL)
        while _is_taken(holder, host, int(port)):
            continue
        # From here on, nobody else can listen there.
        if answer is None:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        else:
            holder.listen()
            threading.Thread(target=_answer_all, args=(holder, answer), daemon=True).start()
        yield
        # Ends a thread that waits for a caller.
        with suppress(OSError):
            holder.shutdown(socket.SHUT_RDWR)


def _is_taken(holder: socket.socket, host: str, port: int) -> bool:
    try:
        holder.bind((host, port))
    except OSError:
        return True
    return False


def _answer_all(holder: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        while True:
            caller, _ = holder.accept()
            with caller, suppress(OSError):
                caller.recv(4096)
                caller.sendall(answer)


@pytest.mark.parametrize("seconds", [5, 30])
@pytest.mark.parametrize(
    "answer", [pytest.param(None, id="refused"), pytest.param(_NO_SERVICE, id="503")]
)
async def test_an_aggregator_that_cannot_be_reached_is_tried_until_it_can(
    fleet: Story, answer: bytes | None, seconds: float
) -> None:
    async with fleet.surviving("no aggregator"):
        steps = fleet.steps()
        with in_its_place(fleet, answer):
            await fleet.until(lambda: all(map(fleet.is_apart, fleet.fleet.workers)), "apart")
            since = fleet.observer.seconds
            await fleet.until(lambda: fleet.observer.seconds > since + seconds, "time passes")
            apart = [fleet.is_apart(worker) for worker in fleet.fleet.workers]
        await fleet.until(
            lambda: not any(map(fleet.is_apart, fleet.fleet.workers)), "together again"
        )

    assert all(apart)
    assert all(after > before for before, after in zip(steps, fleet.steps(), strict=True))


async def test_an_aggregator_that_was_thought_lost_finds_its_number_taken_and_goes_on(
    fleet: Story,
) -> None:
    pid = fleet.now().aggregator.pid
    assert pid is not None, "the aggregator does not run"

    async with (
        rival(fleet) as other,
        fleet.joined("a second aggregator", change=other.change) as worker,
    ):
        os.kill(pid, signal.SIGSTOP)
        try:
            await fleet.until(
                lambda: fleet.number_with(worker) is not None, "a version of the second"
            )
        finally:
            os.kill(pid, signal.SIGCONT)
        theirs = fleet.number_with(worker) or 0
        await fleet.until(lambda: fleet.number >= theirs, "the first uses it")
    await fleet.until(lambda: ours_after(fleet, theirs), "a version of the first after it")

    assert fleet.now().aggregator.pid == pid
    assert "version_taken" in fleet.log("aggregator")


def ours_after(fleet: Story, number: int) -> bool:
    """Say whether a version of the fleet's own workers came after one."""
    return any((fleet.number_with(worker) or 0) > number for worker in fleet.trainers)
