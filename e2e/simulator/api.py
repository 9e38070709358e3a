"""The HTTP side: vLLM's routes, and /simulator, by which a test changes the engine's behaviour."""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from e2e.simulator import protocol
from e2e.simulator.behaviour import BehaviourError, as_json, changed
from e2e.simulator.crashing import Crash
from e2e.simulator.engine import Engine, Overloaded
from e2e.simulator.knobs import Knobs
from e2e.simulator.metrics import Metrics
from e2e.simulator.middleware import Middleware
from e2e.simulator.model import Model
from e2e.simulator.protocol import ApiError, Asked, Facts
from e2e.simulator.requests import Request

ENGINE_HEADER = "X-Simulator-Engine"
"""Says which engine answered; a real vLLM says nothing of the kind."""
CONTROL = "/simulator"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """The routes of one engine, which is called `name`."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        model: Model,
        served_model_name: str,
        knobs: Knobs,
        metrics: Metrics,
        middleware: Middleware,
        crash: Crash,
    ) -> None:
        self._engine = engine
        self._name = name
        self._model = model
        self._served_model_name = served_model_name
        self._knobs = knobs
        self._metrics = metrics
        self._middleware = middleware
        self._crash = crash
        self._created = int(time.time())
        self._num_requests = 0

    def application(self) -> web.Application:
        """Return the routes."""
        application = web.Application(middlewares=[self._answer], client_max_size=64 << 20)
        application.on_response_prepare.append(self._sign)
        application.add_routes(
            [
                web.get("/health", self._health),
                web.get("/metrics", self._read_metrics),
                web.get("/v1/models", self._models),
                web.post("/v1/completions", self._complete),
                web.post("/v1/chat/completions", self._chat),
                web.get(CONTROL, self._read_control),
                web.post(CONTROL, self._control),
            ]
        )
        return application

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Hang if the engine does, and turn errors into vLLM's form of them."""
        if request.path != CONTROL:
            await self._knobs.until(lambda behaviour: behaviour.hang != "everything")
        try:
            return await handler(request)
        except ApiError as error:
            return web.json_response(error.body, status=error.status)

    async def _sign(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers[ENGINE_HEADER] = self._name
        for name, value in await self._middleware.headers(request.path):
            response.headers[name] = value
            if (name, value) == ("connection", "close"):
                response.force_close()

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def _read_metrics(self, request: web.Request) -> web.Response:
        text = generate_latest(self._metrics.registry)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response(
            protocol.models(
                self._served_model_name,
                root=str(self._model.folder),
                max_model_len=self._model.max_model_len,
                created=self._created,
            )
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await _json(request)
        asked = protocol.read_completion(
            body, model=self._served_model_name, max_model_len=self._model.max_model_len
        )
        return await self._generate(request, asked, kind="cmpl")

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await _json(request)
        asked = protocol.read_chat(
            body, model=self._served_model_name, max_model_len=self._model.max_model_len
        )
        return await self._generate(request, asked, kind="chatcmpl")

    async def _generate(self, http: web.Request, asked: Asked, *, kind: str) -> web.StreamResponse:
        """Answer a request; when its client goes away, the engine forgets it."""
        name = f"{kind}-{http.headers.get('X-Request-Id') or secrets.token_hex(8)}"
        facts = Facts(name, int(time.time()), self._served_model_name)
        external_ids = [
            name if asked.is_chat else f"{name}-{index}" for index in range(len(asked.prompts))
        ]
        self._fail_at_times(external_ids)
        requests: list[Request] = []
        try:
            for external_id, prompt in zip(external_ids, asked.prompts, strict=True):
                requests.append(
                    self._engine.submit(
                        prompt,
                        external_id=external_id,
                        max_tokens=asked.max_tokens,
                        ignore_stop=asked.ignore_stop,
                    )
                )
            if asked.stream:
                return await _stream(http, asked, facts, requests)
            choices = [await _whole(request) for request in requests]
            return web.json_response(protocol.answer(asked, facts, choices))
        except Overloaded as error:
            raise protocol.overloaded() from error
        finally:
            for request in requests:
                self._engine.abort(request)

    def _fail_at_times(self, external_ids: Sequence[str]) -> None:
        """Raise for the set share of requests, evenly spread."""
        rate = self._knobs.behaviour.error_rate
        self._num_requests += 1
        if math.floor(self._num_requests * rate) > math.floor((self._num_requests - 1) * rate):
            for external_id in external_ids:
                self._engine.fail(external_id)
            raise protocol.failed()

    async def _read_control(self, request: web.Request) -> web.Response:
        name, digest = self._engine.drafter
        return web.json_response(
            {
                "engine": self._name,
                "pid": os.getpid(),
                "drafter": name,
                "digest": digest,
                "unfinished": self._engine.num_unfinished,
                "behaviour": as_json(self._knobs.behaviour),
            }
        )

    async def _control(self, request: web.Request) -> web.Response:
        changes = await _json(request)
        try:
            behaviour = changed(self._knobs.behaviour, changes)
        except BehaviourError as error:
            raise _bad_request(str(error)) from error
        self._knobs.set(behaviour)
        if "crash_after_seconds" in changes:
            self._crash.set(behaviour.crash_after_seconds)
        return await self._read_control(request)


async def _whole(request: Request) -> tuple[list[int], str]:
    tokens: list[int] = []
    while True:
        output = await request.outputs.get()
        tokens += output.tokens
        if output.finish_reason is not None:
            return tokens, output.finish_reason


async def _stream(
    http: web.Request, asked: Asked, facts: Facts, requests: list[Request]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(http)
    if asked.is_chat:
        await _send(response, protocol.opening(asked, facts))
    num_tokens = 0
    for index, request in enumerate(requests):
        reason = None
        while reason is None:
            output = await request.outputs.get()
            reason = output.finish_reason
            num_tokens += len(output.tokens)
            await _send(response, protocol.chunk(asked, facts, index, output.tokens, reason))
    if asked.include_usage:
        await _send(response, protocol.closing(asked, facts, num_tokens))
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _send(response: web.StreamResponse, event: protocol.Json) -> None:
    await response.write(f"data: {json.dumps(event, separators=(',', ':'))}\n\n".encode())


async def _json(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.read())
    except ValueError as error:
        raise _bad_request(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise _bad_request(f"the body is {body!r:.80}, expected a JSON object")
    return body


def _bad_request(message: str) -> ApiError:
    return ApiError(message, status=HTTPStatus.BAD_REQUEST, kind="BadRequestError")
