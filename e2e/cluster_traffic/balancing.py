"""What kube-proxy does for a Service, for tests without one: new connections go to its endpoints.

A connection stays with the engine that it was made to, whatever becomes of the endpoints.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

_BLOCK_BYTES = 1 << 16


class Balancer:
    """Endpoints by their ports on this machine; `set` replaces them for new connections."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = tuple(ports)
        self._turn = itertools.count()
        self.url = ""

    def set(self, ports: Sequence[int]) -> None:
        """Send new connections to these engines."""
        self._ports = tuple(ports)

    async def serve(self, listening: threading.Event) -> None:
        """Take connections until told to stop."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        listening.set()
        async with server:
            await self._stop.wait()

    def stop(self) -> None:
        """End `serve`, from another thread."""
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports = self._ports
        async with _closing(writer):
            with suppress(OSError):
                port = ports[next(self._turn) % len(ports)]
                there = await asyncio.open_connection("127.0.0.1", port)
                async with _closing(there[1]):
                    await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(_BLOCK_BYTES):
            writer.write(block)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@contextmanager
def balanced(ports: Sequence[int]) -> Iterator[Balancer]:
    """Run a balancer for the time of a `with` block, in a thread."""
    balancer, listening = Balancer(ports), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(balancer.serve(listening)), daemon=True)
    thread.start()
    listening.wait()
    try:
        yield balancer
    finally:
        balancer.stop()
        thread.join()
