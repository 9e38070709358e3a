"""What `helm test` runs says what is right, and what is not."""

from __future__ import annotations

import http.server
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from specfleet_operator.tests.charts import CHART


def program() -> ModuleType:
    """Return the check as a module."""
    spec = importlib.util.spec_from_file_location("chart_check", CHART / "files" / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = program()


@contextmanager
def answering(pages: dict[str, str]) -> Iterator[str]:
    """Serve pages on this machine; any other path answers 503."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "the streams are stale")
            self.send_response(200 if self.path in pages else 503)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_operator_that_is_ready_passes() -> None:
    with answering({"/readyz": "ready"}) as url:
        said = check.operator_ready(url)

    assert said == f"the operator at {url} is ready"


def test_an_operator_that_is_not_ready_is_quoted() -> None:
    with answering({}) as url, pytest.raises(OSError, match="503: the streams are stale"):
        check.operator_ready(url)


def test_an_operator_that_does_not_answer_is_named() -> None:
    with answering({}) as url:
        pass

    with pytest.raises(OSError, match=rf"{url}/readyz does not answer"):
        check.operator_ready(url)


def test_a_missing_kind_is_named() -> None:
    answer = b'{"resources": [{"kind": "SpeculatorFleet"}]}'

    with pytest.raises(ValueError, match=r"v1alpha1 lacks DrafterPromotion$"):
        check.kinds_served(answer)
