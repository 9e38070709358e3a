"""Stands between a fleet and its S3 server, and has the store fail as a test wants it to."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self._forward()

        def do_GET(self) -> None:
            self._forward()

        def do_HEAD(self) -> None:
            self._forward()

        def log_message(self, *_: object) -> None:
            return

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            trouble, path = opened.trouble, self.path
            # The host stays as it came, because it is signed.
            headers = dict(self.headers.items())
            if trouble is not Trouble.NONE:
                opened.count()
            match trouble:
                case Trouble.DOWN:
                    self.close_connection = True
                    return
                case Trouble.SLOW:
                    time.sleep(SLOW_SECONDS)
                case Trouble.FULL if self.command == "PUT":
                    self._answer(507, {}, _FULL)
                    return
                case Trouble.FOREIGN:
                    # The server itself finds out, and says so in its own words.
                    path = path.replace("tester%2F", "nobody%2F")
                    known = headers.get("Authorization", "")
                    headers["Authorization"] = known.replace("=tester/", "=nobody/")
            upstream = http.client.HTTPConnection(urlsplit(server).netloc)
            upstream.request(self.command, path, body=body, headers=_given(headers))
            answer = upstream.getresponse()
            self._answer(answer.status, dict(answer.getheaders()), answer.read())
            upstream.close()

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, text in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        # A client keeps its connections open, and no test waits for that.
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """Leave clients alone that go away in the middle: they are killed here."""

    with Server(("127.0.0.1", 0), Handler) as listening:
        opened = Gateway(f"http://127.0.0.1:{listening.server_port}")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield opened
        finally:
            listening.shutdown()
            thread.join()


def _given(headers: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if text}
