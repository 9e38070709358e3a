"""How connections are kept: gRPC passes over options that it does not know."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from specfleet_aggregator.server import OPTIONS as SERVER
from specfleet_common.wire.access import OPTIONS as CLIENT


@pytest.fixture(scope="module")
def library() -> bytes:
    """Return gRPC's own code, in which the names of its options stand."""
    found = find_spec("grpc._cython.cygrpc")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_bytes()


@pytest.mark.parametrize("option", [name for name, _ in (*SERVER, *CLIENT)])
def test_grpc_knows_an_option_by_its_name(option: str, library: bytes) -> None:
    assert option.encode() + b"\0" in library


def test_clients_ping_less_often_than_a_server_allows() -> None:
    allowed = dict(SERVER)["grpc.http2.min_ping_interval_without_data_ms"]

    assert dict(CLIENT)["grpc.keepalive_time_ms"] > allowed
