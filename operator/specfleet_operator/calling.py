"""Requests to the API server: made again where that may help, and watched while they stream.

Every write asks first whether it may still be made, at each attempt. No request outlives the time
that the holder of the Lease leaves between its last chance to write and the Lease's end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import aiohttp

from specfleet_operator.api import NotLeading, Refused, Unreachable
from specfleet_operator.failing import failure, is_of_a_webhook, network_failures
from specfleet_operator.observed import Object, ObjectKey
from specfleet_operator.retrying import pause_seconds

CONNECT_SECONDS = 5.0
RETRY_SECONDS = 15.0
"""How long a failing request is tried again before whoever made it hears of it."""

CountWrite = Callable[[str, str], None]
"""Gets the verb and the kind of every request that changes something."""


class Caller:
    """Makes requests in a session."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        *,
        request_seconds: float,
        retry_seconds: float = RETRY_SECONDS,
        may_write: Callable[[], bool],
        count_write: CountWrite,
    ) -> None:
        self._session = session
        self._url = url
        self._request_seconds = request_seconds
        self._retry_seconds = retry_seconds
        self._may_write = may_write
        self._count_write = count_write

    async def call(
        self,
        method: str,
        path: str,
        key: ObjectKey,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        verb: str | None = None,
    ) -> Any:
        """Return the answer's JSON; `verb` is of a request that changes something."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._retry_seconds
        num_attempts = 0
        while True:
            if verb is not None:
                if not self._may_write():
                    raise NotLeading(f"{verb} {key}: this operator does not lead")
                self._count_write(verb, key.kind)
            num_attempts += 1
            status, retry_after = None, None
            try:
                with network_failures():
                    async with self._session.request(
                        method,
                        self._url + path,
                        params=query,
                        data=None if body is None else json.dumps(body),
                        headers=None if body is None else {"Content-Type": content_type},
                        timeout=aiohttp.ClientTimeout(total=self._request_seconds),
                    ) as response:
                        text = await response.text()
                        status, retry_after = response.status, response.headers.get("Retry-After")
                    if status < 300:
                        return json.loads(text)
                raise failure(status, text, key)
            except Unreachable as error:
                pause = pause_seconds(
                    status,
                    num_attempts=num_attempts,
                    retry_after=retry_after,
                    left_seconds=deadline - loop.time(),
                )
                if pause is None and is_of_a_webhook(error):
                    # Somebody has to repair it, while the API server itself answers.
                    raise Refused(key, str(error)) from error
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def stream(
        self, path: str, key: ObjectKey, query: Mapping[str, str], *, silence_seconds: float
    ) -> AsyncGenerator[Any, None]:
        """Give the JSON of one line after the other; Unreachable when none comes for too long."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=silence_seconds
        )
        with network_failures():
            async with self._session.get(
                self._url + path, params=query, timeout=timeout
            ) as response:
                if response.status != 200:
                    raise failure(response.status, await response.text(), key)
                async for line in response.content:
                    yield json.loads(line)
