from __future__ import annotations

import json
import logging

import pytest
import structlog
from prometheus_client import CollectorRegistry

from specfleet_operator.telemetry import (
    Instruments,
    LibraryLog,
    health_page,
    metrics_page,
    response,
)


def request(path: str, *, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\n\r\n".encode()


def test_health_is_well_without_problems() -> None:
    answer = response(request("/healthz"), {"/healthz": health_page(lambda: ())})

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok\n")


def test_health_names_every_problem() -> None:
    page = health_page(lambda: ("pods: not heard of", "secrets: not heard of"))

    answer = response(request("/healthz"), {"/healthz": page})

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert answer.endswith(b"\r\n\r\npods: not heard of\nsecrets: not heard of\n")


def test_metrics_are_brought_up_to_date_when_they_are_asked_for() -> None:
    registry = CollectorRegistry()
    instruments = Instruments(registry)
    instruments.count_write("apply", "Service")
    page = metrics_page(registry, lambda: instruments.leader.set(1))

    answer = response(request("/metrics"), {"/metrics": page}).decode()

    assert "\nspecfleet_operator_leader 1.0\n" in answer
    assert 'specfleet_operator_api_writes_total{kind="Service",verb="apply"} 1.0\n' in answer


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(request("/"), b"404", id="another-path"),
        pytest.param(request("/healthz", method="POST"), b"405", id="another-method"),
        pytest.param(request("/healthz?verbose"), b"200", id="with-a-query"),
    ],
)
def test_what_is_no_page(head: bytes, status: bytes) -> None:
    answer = response(head, {"/healthz": health_page(lambda: ())})

    assert answer.split(b" ")[1] == status


def test_what_libraries_log_becomes_one_of_our_events() -> None:
    record = logging.LogRecord("kopf.x", logging.WARNING, "f.py", 1, "lost %s", ("it",), None)

    with structlog.testing.capture_logs() as logs:
        LibraryLog().emit(record)

    assert json.loads(json.dumps(logs)) == [
        {
            "event": "library_message",
            "log_level": "warning",
            "library": "kopf.x",
            "message": "lost it",
        }
    ]
