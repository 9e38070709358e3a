"""Waits until an engine that has to go has nothing left to answer: the preStop hook of its pod.

`python3 -m specfleet_engine.draining --port 8000 --seconds 300 --directory …` ends when the engine
has been idle for a moment, when the time is up, or when the engine is gone; always with 0, because
Kubernetes stops the engine afterwards in any case. A file in the directory, which is the engine's
for shared memory, has the engine close connections with its answers (`closing`).
"""

from __future__ import annotations

import argparse
import http.client
import math
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final

from specfleet_common.shm.names import DRAINING_FILE

FORGET_SECONDS: Final = 5.0
"""Until every router has heard that the pod takes no more requests."""
IDLE_SECONDS: Final = 6.0
"""How long an engine is without requests before it counts as done: longer than the 5 s for which
its server keeps an idle connection, on which a client could ask once more."""
POLL_SECONDS: Final = 0.25
_READ_SECONDS = 5.0
_MOST_FAILURES = 20

_REQUESTS = re.compile(
    rb"^vllm:num_requests_(?:running|waiting)(?:\{[^}]*\})? ([0-9.eE+-]+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Drain:
    """How far it is; times are seconds since its start."""

    longest: float
    idle_since: float | None = None
    failures: int = 0


def seen(drain: Drain, *, requests: float | None, at: float) -> Drain:
    """Return the drain after a look: `requests` in the engine, None when there was no engine."""
    if requests is None:
        return replace(drain, failures=drain.failures + 1, idle_since=None)
    if requests > 0:
        return replace(drain, failures=0, idle_since=None)
    idle_since = at if drain.idle_since is None else drain.idle_since
    return replace(drain, failures=0, idle_since=idle_since)


def end_reason(drain: Drain, *, at: float) -> str | None:
    """Say why the engine may be stopped now, or None while it may not."""
    if at >= drain.longest:
        return f"the time of {drain.longest:g} s is up"
    if drain.failures >= _MOST_FAILURES:
        return "there is no engine any more"
    if at < FORGET_SECONDS or drain.idle_since is None:
        return None
    return "no request is left" if at - drain.idle_since >= IDLE_SECONDS else None


def num_requests(metrics: bytes) -> float | None:
    """Return how many requests run and wait; None where the metrics do not say."""
    found = _REQUESTS.findall(metrics)
    return sum(float(number) for number in found) if found else None


def drain(
    read: Callable[[], float | None],
    *,
    seconds: float,
    clock: Callable[[], float],
    wait: Callable[[float], bool],
) -> str:
    """Wait for the engine to be done and say why it is; `wait` returns True when told to stop."""
    start, state = clock(), Drain(longest=seconds)
    while True:
        state = seen(state, requests=read(), at=clock() - start)
        if reason := end_reason(state, at=clock() - start):
            return reason
        if wait(POLL_SECONDS):
            return "told to stop"


def read_requests(port: int) -> float | None:
    """Return how many requests the engine on this port has; None when there is no engine.

    One that is there and does not say, because it is busy or counts nothing, may have any number.
    """
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/metrics", timeout=_READ_SECONDS) as answer:
            found = num_requests(answer.read())
    except urllib.error.HTTPError:
        return math.inf
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        refused = isinstance(getattr(error, "reason", error), ConnectionRefusedError)
        return None if refused else math.inf
    return math.inf if found is None else found


def _announce(file: Path) -> None:
    """Have the engine close connections; where that cannot be done, waiting is all that is left."""
    try:
        file.touch()
    except FileNotFoundError:
        # Without the directory there is no plugin.
        return
    except OSError as error:
        print(f"specfleet: {file}: cannot be written: {error.strerror}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Drain the engine on a port of this machine."""
    parser = argparse.ArgumentParser(prog="specfleet_engine.draining", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port of the engine")
    parser.add_argument("--seconds", type=float, required=True, help="longest time to wait")
    parser.add_argument(
        "--directory", type=Path, required=True, help="of the engine's shared memory"
    )
    given = parser.parse_args(arguments)
    _announce(given.directory / DRAINING_FILE)
    told = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        told.set()

    signal.signal(signal.SIGTERM, stop)
    reason = drain(
        lambda: read_requests(given.port),
        seconds=given.seconds,
        clock=time.monotonic,
        wait=told.wait,
    )
    print(f"specfleet: drained: {reason}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
