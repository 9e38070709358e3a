"""Requests against a small HTTP server that answers what the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, web

from specfleet_operator.api import Refused, Unreachable
from specfleet_operator.calling import Caller
from specfleet_operator.observed import ObjectKey

KEY = ObjectKey("v1", "ConfigMap", "a")
WEBHOOK = '{"message": "Internal error occurred: failed calling webhook \\"v.example.com\\": EOF"}'


class Scene:
    """A server that gives one answer after the other, and then the last for ever."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.num_requests = 0
        self.url = ""
        self.session: ClientSession

    async def answer(self, _: web.Request) -> web.Response:
        status, text = self.answers[min(self.num_requests, len(self.answers) - 1)]
        self.num_requests += 1
        return web.Response(status=status, text=text)

    async def call(self) -> object:
        caller = Caller(
            self.session,
            self.url,
            request_seconds=5.0,
            may_write=lambda: True,
            count_write=lambda verb, kind: None,
        )
        return await caller.call("PATCH", "/x", KEY, body={}, verb="apply")


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    application = web.Application()
    application.router.add_route("*", "/x", scene.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    scene.url = f"http://{host}:{port}"
    async with ClientSession() as scene.session:
        yield scene
    await runner.cleanup()


async def test_a_busy_server_is_asked_again(scene: Scene) -> None:
    scene.answers = [(503, "{}"), (429, "{}"), (200, '{"kind": "ConfigMap"}')]

    assert await scene.call() == {"kind": "ConfigMap"}


async def test_an_answer_that_is_no_json_is_of_no_api_server(scene: Scene) -> None:
    scene.answers = [(200, "<html>log in</html>")]

    with pytest.raises(Unreachable):
        await scene.call()


async def test_a_webhook_that_stays_away_is_a_refusal_with_its_words(scene: Scene) -> None:
    scene.answers = [(500, WEBHOOK)]

    with pytest.raises(Refused, match="failed calling webhook"):
        await scene.call()

    assert scene.num_requests > 1


async def test_a_webhook_that_comes_back_soon_is_no_refusal(scene: Scene) -> None:
    scene.answers = [(500, WEBHOOK), (200, "{}")]

    assert await scene.call() == {}
