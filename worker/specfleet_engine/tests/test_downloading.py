"""Models come whole, of one revision, from a server that speaks as the hub does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from e2e.hub_server import Asked, Model, handler
from specfleet_engine.downloading import mark

MODULES = Path(__file__).parents[2]
FIRST, SECOND = "a" * 40, "b" * 40
MODEL = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"pickle"}


@dataclass(frozen=True, slots=True)
class Hub:
    """A hub that serves, and what was asked of it."""

    port: int
    asked: list[Asked]


@contextmanager
def hub(
    revisions: Mapping[str, Mapping[str, bytes]],
    *,
    token: str | None = None,
    weights_at: str | None = None,
) -> Iterator[Hub]:
    asked: list[Asked] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = server.server_port
    model = Model("owner/name", revisions, token, weights_at or f"http://localhost:{port}")
    server.RequestHandlerClass = handler(model, asked.append)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Hub(port, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def download(
    hub: Hub, revision: str, directory: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    arguments = ("--repository", "owner/name", "--revision", revision)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(MODULES),
        "HOME": str(directory.parent),
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.port}",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **more,
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "specfleet_engine.downloading"),
            *(*arguments, "--directory", directory),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def files(directory: Path) -> set[str]:
    return {one.name for one in directory.iterdir() if not one.name.startswith(".")}


def test_a_model_is_downloaded_once_and_without_pickles(tmp_path: Path) -> None:
    with hub({FIRST: MODEL}, token="hf_x") as served:
        first = download(served, FIRST, tmp_path / "m", HF_TOKEN="hf_x")
        by_host = {one.host.partition(":")[0]: one.authorization for one in served.asked}
        served.asked.clear()
        again = download(served, FIRST, tmp_path / "m")

    assert first.returncode == 0, first.stderr
    assert files(tmp_path / "m") == {"config.json", "model.safetensors"}
    assert by_host == {"127.0.0.1": "Bearer hf_x", "localhost": None}
    assert again.stdout.strip() == f"owner/name at {FIRST[:12]}: is there"
    assert served.asked == []


def test_nothing_of_another_revision_is_left(tmp_path: Path) -> None:
    sharded = {"config.json": b"{}", "model-00001.safetensors": b"a"}
    with hub({FIRST: sharded, SECOND: MODEL}) as served:
        download(served, FIRST, tmp_path / "m")

        second = download(served, SECOND, tmp_path / "m")

    assert second.returncode == 0, second.stderr
    assert files(tmp_path / "m") == {"config.json", "model.safetensors"}


def test_what_the_hub_has_not_is_said_and_is_no_model(tmp_path: Path) -> None:
    with hub({FIRST: {"config.json": b"{}"}}) as served:
        missing = download(served, SECOND, tmp_path / "m")
        no_weights = download(served, FIRST, tmp_path / "m")
        again = download(served, FIRST, tmp_path / "m")

    assert [missing.returncode, no_weights.returncode, again.returncode] == [1, 1, 1]
    assert missing.stderr.startswith(f"owner/name at {SECOND[:12]}: ")
    assert "expected a model with both" in no_weights.stderr


def test_a_model_that_may_not_be_read_is_not_taken_for_one_that_is_no_model(tmp_path: Path) -> None:
    with hub({FIRST: MODEL}, token="hf_x") as served:
        refused = download(served, FIRST, tmp_path / "m", HF_TOKEN="wrong")
        allowed = download(served, FIRST, tmp_path / "m", HF_TOKEN="hf_x")

    assert refused.returncode == 1
    assert "401" in refused.stderr
    assert allowed.returncode == 0, allowed.stderr


def test_what_was_left_half_removed_is_downloaded_anew(tmp_path: Path) -> None:
    directory = tmp_path / "m"
    with hub({FIRST: MODEL}) as served:
        download(served, FIRST, directory)
        mark(directory).unlink()
        (directory / "config.json").unlink()
        (directory / "model-2.safetensors").write_bytes(b"of another revision")

        again = download(served, FIRST, directory)

    assert again.returncode == 0, again.stderr
    assert files(directory) == {"config.json", "model.safetensors"}


@pytest.mark.long  # the hub's client tries for half a minute
def test_weights_that_cannot_be_reached_are_said_in_a_sentence(tmp_path: Path) -> None:
    with hub({FIRST: MODEL}, weights_at="http://weights.invalid") as served:
        unreachable = download(served, FIRST, tmp_path / "m")

    assert unreachable.returncode == 1
    assert f"owner/name at {FIRST[:12]}: " in unreachable.stderr
    assert "Traceback" not in unreachable.stderr
