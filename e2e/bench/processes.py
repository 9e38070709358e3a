"""The product's processes as they are, started for measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from specfleet_common.api.testing import learning
from specfleet_common.diloco.rule import Rule
from specfleet_common.files import write_file

DEADLINE_SECONDS = 120.0
POLL_SECONDS = 0.01

Value = TypeVar("Value")


def eventually(look: Callable[[], Value | None], *, what: str) -> Value:
    """Return what `look` finds as soon as it is neither None nor False."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found is not None and found is not False:
            return found
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"not within {DEADLINE_SECONDS:g} s: {what}")


@contextmanager
def running(module: str, settings: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of the product with these variables; what it logs joins the part's log."""
    process = subprocess.Popen([sys.executable, "-m", module], env=os.environ | dict(settings))
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def running_aggregator(
    folder: Path, *, quorum: int, combine: Rule = Rule.MEAN
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run an aggregator on the directory store in `folder`; also return its address."""
    port_file = folder / "aggregator.port"
    port_file.unlink(missing_ok=True)
    settings_file = folder / "settings.json"
    learns = learning(
        quorum_minimum=quorum,
        quorum_percent=100,
        combine=combine,
        lease_seconds=600.0,
        heartbeat_seconds=0.2,
    )
    write_file(settings_file, learns.to_json().encode())
    settings = {
        "FLEET": "bench",
        "STORE_DIRECTORY": str(folder / "store"),
        "SPOOL_DIRECTORY": str(folder),
        "PORT_FILE": str(port_file),
        "SETTINGS_FILE": str(settings_file),
    }
    prefixed = {f"SPECFLEET_AGGREGATOR_{name}": value for name, value in settings.items()}
    with running("specfleet_aggregator", prefixed) as process:
        port = eventually(
            lambda: port_file.exists() and port_file.read_text(), what="the aggregator listens"
        )
        yield process, f"127.0.0.1:{port}"
