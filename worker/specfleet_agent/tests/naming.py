"""A name server for tests that knows no name at first."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_HEADER = struct.Struct(">HHHHHH")
_ANSWER_FLAGS, _NO_SUCH_NAME, _IPV4 = 0x8180, 3, 1
_HERE = bytes((127, 0, 0, 1))


@dataclass
class Names:
    """Whatever is asked for, it is this machine as soon as `known`; before, there is no such name.

    `num_asked` counts questions.
    """

    port: int
    known: bool = False
    num_asked: int = 0


def answer(question: bytes, *, known: bool) -> bytes:
    """Return the answer to a query of one question."""
    number, *_ = _HEADER.unpack_from(question)
    end = _HEADER.size
    while question[end]:
        end += 1 + question[end]
    end += 5
    (kind,) = struct.unpack_from(">H", question, end - 4)
    asked = question[_HEADER.size : end]
    if not known:
        return _HEADER.pack(number, _ANSWER_FLAGS | _NO_SUCH_NAME, 1, 0, 0, 0) + asked
    if kind != _IPV4:
        return _HEADER.pack(number, _ANSWER_FLAGS, 1, 0, 0, 0) + asked
    # The name of the question, the same kind, kept for no time.
    record = struct.pack(">HHHIH", 0xC000 | _HEADER.size, kind, 1, 0, len(_HERE)) + _HERE
    return _HEADER.pack(number, _ANSWER_FLAGS, 1, 1, 0, 0) + asked + record


@contextmanager
def name_server() -> Iterator[Names]:
    """Run one for the time of a `with` block."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            question, socket = self.request
            names.num_asked += 1
            socket.sendto(answer(question, known=names.known), self.client_address)

    with socketserver.UDPServer(("127.0.0.1", 0), Handler) as server:
        names = Names(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield names
        finally:
            server.shutdown()
            thread.join()
