"""Models come whole, of one revision, from a server that speaks as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODULES = Path(__file__).parents[2]
FIRST, SECOND = "a" * 40, "b" * 40
MODEL = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"pickle"}


@dataclass
class Hub:
    """Repositories by revision, and what was asked of them."""

    revisions: Mapping[str, Mapping[str, bytes]]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)


@contextmanager
def hub(revisions: Mapping[str, Mapping[str, bytes]]) -> Iterator[Hub]:
    served = Hub(revisions)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self, *, with_body: bool) -> None:
            served.asked.append(self.path)
            served.tokens.add(self.headers.get("Authorization"))
            found = self._found()
            body = b"{}" if found is None else found[0]
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            if found is None:
                self.send_header("X-Error-Code", "RevisionNotFound")
            else:
                self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
                self.send_header("X-Repo-Commit", found[1])
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def _found(self) -> tuple[bytes, str] | None:
            parts = self.path.partition("?")[0].strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                revision = parts[-1]
                files = served.revisions.get(revision)
                if files is None:
                    return None
                if "tree" in parts:
                    listed = [
                        {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                        for name, data in files.items()
                    ]
                    return json.dumps(listed).encode(), revision
                siblings = [{"rfilename": name} for name in files]
                about = {"id": "owner/name", "sha": revision, "siblings": siblings}
                return json.dumps(about).encode(), revision
            revision, name = parts[-2:]
            data = served.revisions.get(revision, {}).get(name)
            return None if data is None else (data, revision)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield served
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
    with hub({FIRST: MODEL}) as served:
        first = download(served, FIRST, tmp_path / "m", HF_TOKEN="hf_x")
        served.asked.clear()
        again = download(served, FIRST, tmp_path / "m")

    assert first.returncode == 0, first.stderr
    assert files(tmp_path / "m") == {"config.json", "model.safetensors"}
    assert "Bearer hf_x" in served.tokens
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
