"""A real aggregator process, killed hard and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specfleet_aggregator.tests.builders import (
    FakeWorker,
    at_version,
    drafter,
    joined,
    write_settings,
)
from specfleet_common.store.location import DirectoryLocation, Location
from specfleet_common.store.testing import ENVIRONMENT, Server
from specfleet_common.store.tests.proxy import proxy
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import Outcome

_DEADLINE_SECONDS = 30.0
_SERVING_SECONDS = 3.4


@contextmanager
def process(
    directory: Path, location: Location | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run an aggregator that needs both of two workers; killed when the block ends."""
    port_file = directory / "port"
    port_file.unlink(missing_ok=True)
    file = directory / "settings.json"
    write_settings(file, quorum_minimum=2)
    environment = {
        **os.environ,
        **store_settings(location or DirectoryLocation(path=directory / "store")),
        "SPECFLEET_AGGREGATOR_FLEET": "fleet",
        "SPECFLEET_AGGREGATOR_SETTINGS_FILE": str(file),
        "SPECFLEET_AGGREGATOR_PORT_FILE": str(port_file),
    }
    with subprocess.Popen([sys.executable, "-m", "specfleet_aggregator"], env=environment) as child:
        try:
            yield child, port_file
        finally:
            child.kill()


def store_settings(location: Location) -> dict[str, str]:
    if isinstance(location, DirectoryLocation):
        return {"SPECFLEET_AGGREGATOR_STORE_DIRECTORY": str(location.path)}
    return {"SPECFLEET_AGGREGATOR_STORE_S3": location.model_dump_json(), **ENVIRONMENT}


def port_of(port_file: Path) -> int:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not port_file.exists():
        assert time.monotonic() < deadline, f"{port_file} did not appear"
        time.sleep(0.01)
    return int(port_file.read_text())


def processor_seconds(process_id: int) -> float:
    """Return the processor time that a process has used; unlike time it ignores its neighbours."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def workers_of(port_file: Path, directory: Path) -> list[FakeWorker]:
    client = AggregatorClient(f"127.0.0.1:{port_of(port_file)}")
    workers = [FakeWorker(client, directory, name) for name in ("one", "two")]
    for worker in workers:
        await joined(worker)
    return workers


async def test_a_killed_aggregator_goes_on_with_the_version_it_had(
    tmp_path: Path, location: Location
) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        with process(tmp_path, location) as (child, port_file):
            one, two = await workers_of(port_file, tmp_path)
            await asyncio.gather(one.push(drafter(0.25)), two.push(drafter(0.25)))
            before = await at_version(one, 1)
            halfway = await one.push(drafter(0.5), before)
            child.send_signal(signal.SIGKILL)
            child.wait()
            await one.client.close()

        with process(tmp_path, location) as (child, port_file):
            one, two = await workers_of(port_file, tmp_path)
            serving_seconds = processor_seconds(child.pid)
            after = one.replies[-1]
            again = [await one.push(drafter(0.5)), await two.push(drafter(0.5))]
            next_ = await at_version(two, 2)
            await one.client.close()

    assert halfway.outcome is Outcome.ACCEPTED
    assert (after.base, after.round) == (before.base, before.round)
    assert not after.delta_counted
    assert [reply.outcome for reply in again] == [Outcome.ACCEPTED, Outcome.ACCEPTED]
    assert next_.base is not None
    assert next_.base.number == 2
    assert serving_seconds <= _SERVING_SECONDS


def test_the_store_of_another_fleet_ends_the_process_with_a_sentence(tmp_path: Path) -> None:
    with process(tmp_path) as (_, port_file):
        port_of(port_file)
    environment = {
        **os.environ,
        "SPECFLEET_AGGREGATOR_FLEET": "other",
        "SPECFLEET_AGGREGATOR_STORE_DIRECTORY": str(tmp_path / "store"),
        "SPECFLEET_AGGREGATOR_SETTINGS_FILE": str(tmp_path / "settings.json"),
    }

    result = subprocess.run(
        [sys.executable, "-m", "specfleet_aggregator"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 1
    assert "belongs to fleet fleet, this is fleet other" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_store_that_overwrites_ends_the_process_with_a_sentence(
    s3: Server, tmp_path: Path
) -> None:
    file = tmp_path / "settings.json"
    write_settings(file)
    with proxy(s3.endpoint) as between:
        between.ignores_conditions = True
        location = s3.location("overwriting", endpoint=between.endpoint)

        result = subprocess.run(
            [sys.executable, "-m", "specfleet_aggregator"],
            env={
                **os.environ,
                **store_settings(location),
                "SPECFLEET_AGGREGATOR_FLEET": "fleet",
                "SPECFLEET_AGGREGATOR_SETTINGS_FILE": str(file),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert result.returncode == 1
    assert "use an S3 server that honours If-None-Match" in result.stderr
    assert "Traceback" not in result.stderr


def test_what_a_killed_writer_left_is_removed_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "store" / "l" / "versions" / "0"
    folder.mkdir(parents=True)
    old, young = (folder / f".drafter.safetensors.{digit * 16}" for digit in "ab")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))

    with process(tmp_path) as (_, port_file):
        port_of(port_file)

    assert list(folder.iterdir()) == [young]


def test_sigterm_ends_the_process_at_once_and_without_error(tmp_path: Path) -> None:
    with process(tmp_path) as (child, port_file):
        port_of(port_file)
        child.send_signal(signal.SIGTERM)
        status = child.wait(timeout=_DEADLINE_SECONDS)

    assert status == 0


def test_the_process_imports_nothing_heavy() -> None:
    code = (
        "import sys, specfleet_aggregator.server\n"
        "print(sorted({'torch', 'scipy', 'safetensors', 'pandas', 'minio'} & sys.modules.keys()))"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout.strip() == "[]"
