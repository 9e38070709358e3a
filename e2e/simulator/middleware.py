"""vLLM's --middleware, as far as it adds headers: ASGI classes asked what they would add.

The simulator's own server is none of ASGI; the classes see an answer without content.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

Message = dict[str, Any]
Headers = list[tuple[str, str]]


class Middleware:
    """The classes named on the command line, each around the one before it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._application = reduce(_wrapped, map(_class, names), _empty)

    async def headers(self, path: str) -> Headers:
        """Return what the classes add to an answer."""
        added: Headers = []

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            for name, value in message.get("headers", ()):
                added.append((name.decode(), value.decode()))

        await self._application({"type": "http", "path": path, "headers": []}, receive, send)
        return added


async def _empty(scope: Message, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def _wrapped(application: Any, layer: Callable[[Any], Any]) -> Any:
    return layer(application)


def _class(name: str) -> Callable[[Any], Any]:
    module, _, attribute = name.rpartition(".")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), attribute)
    return found
