"""One page as a reader has it: a window of some width, light or dark."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from e2e.browser.devtools import BrowserError, Connection, Message


class Scheme(StrEnum):
    """What a reader prefers."""

    LIGHT = "light"
    DARK = "dark"


SCREEN_WIDTH, PHONE_WIDTH = 1280, 390
"""In CSS pixels."""
_WINDOW_HEIGHT = 900


@dataclass(frozen=True, slots=True)
class Page:
    """A loaded page; `complaints` are errors and warnings, `requests` what it asked for."""

    _connection: Connection
    _session: str
    width: int
    requests: tuple[str, ...]
    complaints: tuple[str, ...]

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, which must be one that JSON has."""
        found = self._connection.command(
            "Runtime.evaluate", session=self._session, expression=expression, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise ValueError(f"{expression}: {found['exceptionDetails']['text']}")
        return found["result"].get("value")

    def screenshot(self, *, height: int | None = None, scale: float = 1.0) -> bytes:
        """Return the page as PNG, whole or its first pixels."""
        whole = self.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)")
        clip = {"x": 0, "y": 0, "width": self.width, "height": height or whole, "scale": scale}
        found = self._connection.command(
            "Page.captureScreenshot",
            session=self._session,
            format="png",
            captureBeyondViewport=True,
            clip=clip,
        )
        return base64.b64decode(found["data"])


@contextmanager
def opened(
    connection: Connection, path: Path, *, width: int = SCREEN_WIDTH, scheme: Scheme = Scheme.LIGHT
) -> Iterator[Page]:
    """Open a file for the time of a `with` block."""
    target = connection.command("Target.createTarget", url="about:blank")["targetId"]
    session = connection.command("Target.attachToTarget", targetId=target, flatten=True)[
        "sessionId"
    ]
    try:
        for domain in ("Page", "Runtime", "Log", "Network"):
            connection.command(f"{domain}.enable", session=session)
        _look(connection, session, width, scheme)
        connection.take_events(session)
        url = path.absolute().as_uri()
        answer = connection.command("Page.navigate", session=session, url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url} cannot be opened: {answer['errorText']}")
        connection.until("Page.loadEventFired", session=session)
        # Answered after what the page does as it loads.
        connection.command("Runtime.evaluate", session=session, expression="0")
        events = connection.take_events(session)
        yield Page(
            connection,
            session,
            width,
            requests=tuple(_requested(events)),
            complaints=tuple(_complaints(events)),
        )
    finally:
        connection.command("Target.closeTarget", targetId=target)


def _look(connection: Connection, session: str, width: int, scheme: Scheme) -> None:
    connection.command(
        "Emulation.setDeviceMetricsOverride",
        session=session,
        width=width,
        height=_WINDOW_HEIGHT,
        deviceScaleFactor=1,
        mobile=width <= PHONE_WIDTH,
    )
    connection.command(
        "Emulation.setEmulatedMedia",
        session=session,
        features=[{"name": "prefers-color-scheme", "value": scheme}],
    )


def _requested(events: list[Message]) -> Iterator[str]:
    for event in events:
        if event["method"] == "Network.requestWillBeSent":
            yield event["params"]["request"]["url"]


def _complaints(events: list[Message]) -> Iterator[str]:
    for event in events:
        told = event.get("params", {})
        match event["method"]:
            case "Runtime.exceptionThrown":
                yield told["exceptionDetails"]["text"]
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                yield " ".join(str(one.get("value", "")) for one in told["args"])
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                yield told["entry"]["text"]
