"""Stands between a store and its server, and makes the mistakes that a test asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from specfleet_common.store.forwarding import Answer, Request, forwarding


@dataclass
class Proxy:
    """Counts of mistakes to make, and a mistake that is made always."""

    endpoint: str
    lost_answers: int = 0
    """Requests that reach the server but whose answer does not come back."""
    unavailable: int = 0
    """Requests that are answered with 503 and do not reach the server."""
    broken_bodies: int = 0
    """Answers that break off after their first half."""
    ignores_conditions: bool = False
    """Drop If-None-Match, as a server does that does not know it."""


@contextmanager
def proxy(server: str) -> Iterator[Proxy]:
    """Forward what comes to the endpoint of a server."""

    proxied = Proxy("")

    def respond(request: Request) -> Answer | None:
        if proxied.unavailable:
            proxied.unavailable -= 1
            return Answer(503, {}, b"")
        if proxied.ignores_conditions:
            kept = {name: text for name, text in request.headers.items() if name != "If-None-Match"}
            request = replace(request, headers=kept)
        answer = request.forward()
        if proxied.lost_answers:
            proxied.lost_answers -= 1
            return None
        if proxied.broken_bodies:
            proxied.broken_bodies -= 1
            return replace(answer, body=answer.body[: len(answer.body) // 2], is_last=True)
        return answer

    with forwarding(server, respond) as proxied.endpoint:
        yield proxied
