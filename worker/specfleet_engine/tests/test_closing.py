from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_common.shm.names import DRAINING_FILE
from specfleet_engine.closing import CloseWhileDraining, Message, Receive, Send


async def application(scope: Message, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b"x"})


async def answer(middleware: CloseWhileDraining) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await middleware({"type": "http"}, receive, send)
    return sent


@pytest.fixture
def draining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECFLEET_ENGINE_SHM_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("SPECFLEET_ENGINE_FLEET", "demo")
    return tmp_path / DRAINING_FILE


async def test_connections_are_closed_while_the_engine_drains(draining: Path) -> None:
    middleware = CloseWhileDraining(application)

    before = await answer(middleware)
    draining.touch()
    start, body = await answer(middleware)

    assert before[0]["headers"] == [(b"a", b"b")]
    assert start["headers"] == [(b"a", b"b"), (b"connection", b"close")]
    assert body == {"type": "http.response.body", "body": b"x"}


async def test_a_new_engine_keeps_connections_though_the_last_one_drained(draining: Path) -> None:
    draining.touch()

    start, _ = await answer(CloseWhileDraining(application))

    assert start["headers"] == [(b"a", b"b")]


async def test_an_engine_of_no_fleet_answers_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPECFLEET_ENGINE_SHM_DIRECTORY", raising=False)

    start, _ = await answer(CloseWhileDraining(application))

    assert start["headers"] == [(b"a", b"b")]


async def test_a_mark_that_cannot_be_removed_is_ignored(draining: Path) -> None:
    draining.mkdir()

    start, _ = await answer(CloseWhileDraining(application))

    assert start["headers"] == [(b"a", b"b")]


async def test_a_mark_that_cannot_be_looked_for_fails_no_request(
    draining: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_too_long = draining.parent / ("x" * 300)
    monkeypatch.setenv("SPECFLEET_ENGINE_SHM_DIRECTORY", str(name_too_long))

    start, _ = await answer(CloseWhileDraining(application))

    assert start["headers"] == [(b"a", b"b")]
