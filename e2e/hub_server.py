"""Speaks as the Hugging Face hub does, of one model: over TLS in a pod, or for a test beside it.

Like the hub, it has weights on a server of another name, to which it sends those who may have them
without their token. Needs nothing but Python, so that any image with one can run this file.
"""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 8443
TOKEN_VARIABLE = "HUB_TOKEN"
_WEIGHTS = ".safetensors"


@dataclass(frozen=True, slots=True)
class Model:
    """A repository: its files by revision, and the token of who may read them."""

    name: str
    revisions: Mapping[str, Mapping[str, bytes]]
    token: str | None
    """None for a public one."""
    weights_at: str
    """The URL of the other server, which may be this one by another name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    host: str
    path: str
    authorization: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to it."""

    status: HTTPStatus
    headers: Mapping[str, str]
    body: bytes = b""


def answer(model: Model, asked: Asked) -> Answer:
    """Return what the hub says to a request."""
    path = asked.path.partition("?")[0].strip("/")
    if model.weights_at.partition("://")[2] == asked.host:
        return _weights(model, digest=path)
    if model.token is not None and asked.authorization != f"Bearer {model.token}":
        said = "Invalid credentials in Authorization header"
        return Answer(HTTPStatus.UNAUTHORIZED, {"X-Error-Message": said})
    kind, _, revision = path.removeprefix("api/models/").rpartition("/")
    if kind == f"{model.name}/tree":
        files = model.revisions.get(revision)
        return _missing("RevisionNotFound") if files is None else _listed(files)
    repository, _, named = path.partition("/resolve/")
    revision, _, name = named.partition("/")
    data = model.revisions.get(revision, {}).get(name)
    if repository != model.name or data is None:
        return _missing("EntryNotFound")
    return _file(model, revision, name, data)


def _listed(files: Mapping[str, bytes]) -> Answer:
    entries = [
        {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
        for name, data in files.items()
    ]
    return Answer(HTTPStatus.OK, {}, json.dumps(entries).encode())


def _file(model: Model, revision: str, name: str, data: bytes) -> Answer:
    headers = {"X-Repo-Commit": revision}
    if not name.endswith(_WEIGHTS):
        headers["ETag"] = f'"{hashlib.sha1(data).hexdigest()}"'
        return Answer(HTTPStatus.OK, headers, data)
    digest = hashlib.sha256(data).hexdigest()
    headers |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data))}
    headers["Location"] = f"{model.weights_at}/{digest}"
    return Answer(HTTPStatus.FOUND, headers)


def _weights(model: Model, *, digest: str) -> Answer:
    every = (data for files in model.revisions.values() for data in files.values())
    found = next((data for data in every if hashlib.sha256(data).hexdigest() == digest), None)
    if found is None:
        return _missing("EntryNotFound")
    return Answer(HTTPStatus.OK, {"ETag": f'"{digest}"'}, found)


def _missing(what: str) -> Answer:
    return Answer(HTTPStatus.NOT_FOUND, {"X-Error-Code": what})


def handler(model: Model, tell: Callable[[Asked], None]) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests; `tell` hears of each."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self, *, with_body: bool) -> None:
            given = self.headers.get
            asked = Asked(given("Host", ""), self.path, given("Authorization"))
            tell(asked)
            found = answer(model, asked)
            self.send_response(found.status)
            for name, value in {**found.headers, "Content-Length": str(len(found.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(found.body)

    return Handler


class Server(ThreadingHTTPServer):
    """A server to which probes may connect and say nothing."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: what is printed are requests."""


def main() -> None:
    """Serve `FOLDER NAME REVISION WEIGHTS_AT` with the certificate and key in `PAIR`."""
    folder, name, revision, weights_at, pair = sys.argv[1:]
    files = {one.name: one.read_bytes() for one in Path(folder).iterdir() if one.is_file()}
    model = Model(name, {revision: files}, os.environ[TOKEN_VARIABLE], weights_at)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(Path(pair, "tls.crt"), Path(pair, "tls.key"))
    server = Server(("", PORT), handler(model, _print))
    # A caller that says nothing must not keep the next one waiting.
    server.socket = shown.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.serve_forever()


def _print(asked: Asked) -> None:
    # In one piece, because several threads print.
    print(f"{json.dumps(asdict(asked))}\n", end="", flush=True)


if __name__ == "__main__":
    main()
