"""Prints the path of versitygw, the S3 server of the tests; builds it first when it is missing.

It is built from its Go module into the user's cache: `python -m tools.versitygw`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.go import built_once, cache, go, print_built

VERSION = "v1.8.0"
MODULE = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"


def main() -> int:
    """Print the path."""
    return print_built("versitygw", lambda: binary(cache(os.environ), os.environ))


def binary(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the path of the built program."""

    def build(program: Path) -> None:
        compiler = go(folder, environment)
        print(f"versitygw: building {MODULE} with {compiler}, which takes minutes", file=sys.stderr)
        # Go gives what it installs the name of its package.
        settings = {"GOBIN": str(program.parent), "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        subprocess.run(
            [compiler, "install", "-trimpath", "-ldflags=-s -w", MODULE],
            env={**environment, **settings},
            stdout=sys.stderr,
            check=True,
        )
        (program.parent / "versitygw").rename(program)

    return built_once(folder / f"versitygw-{VERSION}", build)


if __name__ == "__main__":
    sys.exit(main())
