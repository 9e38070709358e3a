"""Stands between a fleet and its S3 server, and has the store fail as a test wants it to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum

from specfleet_common.store.forwarding import Answer, Request, forwarding

SLOW_SECONDS = 1.0
_FULL = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>XMinioStorageFull</Code>'
    b"<Message>Storage backend has reached its minimum free drive threshold.</Message>"
    b"<Resource>/</Resource><RequestId>1</RequestId><HostId>1</HostId></Error>"
)


class Trouble(Enum):
    """How the store fails."""

    NONE = "none"
    DOWN = "connections break off without an answer"
    SLOW = "every answer takes a second longer"
    FULL = "nothing more can be written"
    FOREIGN = "the server does not know who asks"


@dataclass
class Gateway:
    """The endpoint of the fleet; `met` counts requests that met with the trouble of now."""

    endpoint: str
    trouble: Trouble = Trouble.NONE
    met: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def failing(self, trouble: Trouble) -> Iterator[None]:
        """Have the store fail for the time of a `with` block."""
        self.met, self.trouble = 0, trouble
        try:
            yield
        finally:
            self.trouble = Trouble.NONE

    def count(self) -> None:
        """Note that a request met with trouble."""
        with self._lock:
            self.met += 1


@contextmanager
def gateway(server: str) -> Iterator[Gateway]:
    """Forward what comes to the endpoint of a server."""

    opened = Gateway("")

    def respond(request: Request) -> Answer | None:
        trouble = opened.trouble
        if trouble is not Trouble.NONE:
            opened.count()
        match trouble:
            case Trouble.DOWN:
                return None
            case Trouble.SLOW:
                time.sleep(SLOW_SECONDS)
            case Trouble.FULL if request.command == "PUT":
                return Answer(507, {}, _FULL)
            case Trouble.FOREIGN:
                request = _of_nobody(request)
        return request.forward()

    with forwarding(server, respond) as opened.endpoint:
        yield opened


def _of_nobody(request: Request) -> Request:
    """Return a request of somebody unknown: the server finds out, and says so in its own words."""
    headers = dict(request.headers)
    if "Authorization" in headers:
        headers["Authorization"] = headers["Authorization"].replace("=tester/", "=nobody/")
    return replace(request, path=request.path.replace("tester%2F", "nobody%2F"), headers=headers)
