"""Stands between an S3 client and its server, for tests, which decide what becomes of requests."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client gets; the connection breaks off after one that `is_last`."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks of a server."""

    server: str
    command: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def forward(self) -> Answer:
        """Ask the server; the host stays as it came, because it is signed."""
        upstream = http.client.HTTPConnection(urlsplit(self.server).netloc)
        upstream.request(self.command, self.path, body=self.body, headers=dict(self.headers))
        answer = upstream.getresponse()
        body = answer.read()
        upstream.close()
        return Answer(answer.status, dict(answer.getheaders()), body)


@contextmanager
def forwarding(server: str, respond: Callable[[Request], Answer | None]) -> Iterator[str]:
    """Give the endpoint for the time of a `with` block; None breaks off without an answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self._respond()

        def do_GET(self) -> None:
            self._respond()

        def do_HEAD(self) -> None:
            self._respond()

        def log_message(self, *_: object) -> None:
            return

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = dict(self.headers.items())
            answer = respond(Request(server, self.command, self.path, headers, body))
            self.close_connection = self.close_connection or answer is None or answer.is_last
            if answer is None:
                return
            self.send_response(answer.status)
            for name, text in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(answer.body)

    class Server(ThreadingHTTPServer):
        # A client keeps its connections open, and no test waits for that.
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """Leave clients alone that go away in the middle: tests kill some."""

    with Server(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()
