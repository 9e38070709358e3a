"""A real S3 server on this machine, for the tests of every package.

The program is versitygw, which `tools.versitygw` builds when it is missing. Its objects are
plain files below `root`, so tests damage them as they damage those of a directory store.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specfleet_common.store.location import S3Location

BUCKET = "fleets"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}
"""Whoever asks the server for something needs this."""

_ROOT = Path(__file__).parents[3]
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; each fleet of a test has a prefix of its own."""

    endpoint: str
    root: Path
    """Directory of the bucket."""

    def location(self, prefix: str, **changes: Any) -> S3Location:
        """Return a place in the bucket, reached as `changes` say."""
        fields = {"endpoint": self.endpoint, "bucket": BUCKET, "prefix": prefix}
        return S3Location.model_validate({**fields, **changes})


@contextmanager
def s3_server(
    directory: Path, *arguments: str, scheme: str = "http", bucket: str = BUCKET
) -> Iterator[Server]:
    """Run a server with one empty bucket; `arguments` are more of versitygw's own."""
    root = directory / "data" / bucket
    root.mkdir(parents=True)
    port = _free_port()
    command = [_program(), "--port", f"127.0.0.1:{port}", "--quiet", *arguments]
    credentials = {
        "ROOT_ACCESS_KEY": ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        "ROOT_SECRET_KEY": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    }
    log = directory / "versitygw.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "posix", str(root.parent)],
            env=credentials,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(port, process, log)
        yield Server(f"{scheme}://127.0.0.1:{port}", root)
    finally:
        process.terminate()
        process.wait()


def _program() -> str:
    command = [sys.executable, "-m", "tools.versitygw"]
    built = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return built.stdout.strip()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError(f"versitygw does not listen on port {port}:\n{log.read_text()}")
