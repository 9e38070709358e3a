"""Stands between a store and its server, and makes the mistakes that a test asks for."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


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
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if proxied.unavailable:
                proxied.unavailable -= 1
                self._answer(503, {}, b"")
                return
            # The host stays as it came, because it is signed.
            headers = dict(self.headers.items())
            if proxied.ignores_conditions:
                headers.pop("If-None-Match", None)
            upstream = http.client.HTTPConnection(urlsplit(server).netloc)
            upstream.request(self.command, self.path, body=sent, headers=headers)
            answer = upstream.getresponse()
            body = answer.read()
            upstream.close()
            if proxied.lost_answers:
                proxied.lost_answers -= 1
                self.close_connection = True
                return
            if proxied.broken_bodies:
                proxied.broken_bodies -= 1
                self.close_connection = True
                body = body[: len(body) // 2]
            self._answer(answer.status, dict(answer.getheaders()), body)

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, text in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        # A client keeps its connections open, and no test waits for that.
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as listening:
        proxied = Proxy(f"http://127.0.0.1:{listening.server_port}")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxied
        finally:
            listening.shutdown()
            thread.join()
