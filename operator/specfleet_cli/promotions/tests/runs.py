"""A run on this machine that has no processes, and an aggregator that says what a test wants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from specfleet_cli.endpoints import Endpoint, Fleet, write_fleet
from specfleet_common.api.testing import learning
from specfleet_common.store.location import DirectoryLocation
from specfleet_common.wire import codec
from specfleet_common.wire.messages import FleetState
from specfleet_common.wire.v1 import specfleet_pb2 as pb

NOWHERE = "127.0.0.1:1"


def run_in(
    directory: Path, *, pid: int | None = None, aggregator: str = NOWHERE, **settings: Any
) -> Path:
    """Make a directory look like that of a run, by this process when no other is named."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "token").write_text("secret")
    (directory / "settings.json").write_text(learning(**settings).to_json())
    fleet = Fleet(
        fleet="tiny",
        pid=os.getpid() if pid is None else pid,
        served_model_name="tiny",
        store=DirectoryLocation(path=directory / "store"),
        aggregator_address=aggregator,
        token_file=str(directory / "token"),
        aggregator=Endpoint("aggregator", "http://127.0.0.1:1", None, 1, "log"),
        workers=(),
    )
    write_fleet(directory / "fleet.json", fleet)
    return directory


@contextmanager
def telling(*states: FleetState) -> Iterator[str]:
    """Give the address of an aggregator that tells these states, one after the other."""

    def watch(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        for state in states:
            yield codec.encode_fleet(state).SerializeToString()

    with ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        service = pb.DESCRIPTOR.services_by_name["Aggregator"].full_name
        handlers = {"WatchState": grpc.unary_stream_rpc_method_handler(watch)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()
