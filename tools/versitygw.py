"""Prints the path of versitygw, the S3 server of the tests; builds it first when it is missing.

It is built from its Go module into the user's cache: `python -m tools.versitygw`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.go import cache, go, locked

VERSION = "v1.8.0"
MODULE = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"


def main() -> int:
    """Print the path; what is built and installed goes to standard error."""
    try:
        print(binary(cache(os.environ), os.environ))
    except subprocess.CalledProcessError as error:
        print(f"versitygw: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 1
    return 0


def binary(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the path of the built program."""
    program = folder / f"versitygw-{VERSION}"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "versitygw.lock"):
        if not program.exists():
            _build(program, go(folder, environment), environment)
    return program


def _build(program: Path, compiler: Path, environment: Mapping[str, str]) -> None:
    print(f"versitygw: building {MODULE} with {compiler}, which takes minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=program.parent) as place:
        settings = {"GOBIN": place, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        subprocess.run(
            [compiler, "install", "-trimpath", "-ldflags=-s -w", MODULE],
            env={**environment, **settings},
            stdout=sys.stderr,
            check=True,
        )
        Path(place, "versitygw").rename(program)


if __name__ == "__main__":
    sys.exit(main())
