"""Sends clients away from an engine that is about to go: no connection outlives its answer.

Only new connections follow a Service's endpoints. A client that keeps its connection alive would
send its requests to a draining engine until that ends under one of them. vLLM takes the class by
`--middleware specfleet_engine.closing.CloseWhileDraining`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from specfleet_common.shm.names import DRAINING_FILE
from specfleet_engine.settings import SettingsError, read_settings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_CLOSE = (b"connection", b"close")

log = logging.getLogger("vllm.specfleet")


class CloseWhileDraining:
    """ASGI middleware. What an earlier engine of the same pod left behind does not count."""

    def __init__(self, app: Application) -> None:
        self._app = app
        try:
            settings = read_settings(os.environ)
        except SettingsError:
            # `plugin` says what is wrong with them.
            settings = None
        self._file = None if settings is None else settings.shm_directory / DRAINING_FILE
        if self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                log.error("specfleet cannot remove %s, it is ignored: %s", self._file, error)
                self._file = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer as the application does, and close the connection after it while draining."""

        async def send_and_close(message: Message) -> None:
            starts = message["type"] == "http.response.start"
            if starts and self._file is not None and os.path.exists(self._file):
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
            await send(message)

        await self._app(scope, receive, send_and_close)
