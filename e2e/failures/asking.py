"""What a fleet's processes tell at their pages."""

from __future__ import annotations

import urllib.error
import urllib.request

from specfleet_cli.endpoints import Endpoint

_PATIENCE_SECONDS = 10.0


def page(process: Endpoint, path: str) -> str:
    """Return a page of a process; empty when nobody answers, which happens while it starts."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{process.url}{path}", timeout=_PATIENCE_SECONDS) as reply:
            return str(reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()
    except OSError:
        return ""


def sample(process: Endpoint, name: str) -> float | None:
    """Return the value of a sample, such as `name{label="x"}`; None when it is not there."""
    for line in page(process, "/metrics").splitlines():
        found, _, value = line.rpartition(" ")
        if found == name:
            return float(value)
    return None
