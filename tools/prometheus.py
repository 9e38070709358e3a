"""Prints the directory of prometheus and promtool, which tests use; builds them first when missing.

They are built from their Go module into the user's cache: `python -m tools.prometheus`. Left out
are the pages of its web server and all ways to discover targets but files and fixed lists.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.go import built_once, cache, go, print_built

VERSION = "v0.316.0"  # as a Go module; Prometheus calls it 3.16.0
PROGRAMS = ("prometheus", "promtool")

_MODULE = "github.com/prometheus/prometheus"


def main() -> int:
    """Print the directory."""
    return print_built("prometheus", lambda: programs(cache(os.environ), os.environ))


def programs(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the directory that holds the programs."""

    def build(directory: Path) -> None:
        compiler = go(folder, environment)
        print(
            f"prometheus: building {_MODULE}@{VERSION} with {compiler}, which takes minutes",
            file=sys.stderr,
        )
        settings = {"GOBIN": str(directory), "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        subprocess.run(
            [
                *(compiler, "install", "-trimpath", "-tags", "netgo,remove_all_sd"),
                "-ldflags=-s -w",
                *(f"{_MODULE}/cmd/{program}@{VERSION}" for program in PROGRAMS),
            ],
            env={**environment, **settings},
            stdout=sys.stderr,
            check=True,
        )

    return built_once(folder / f"prometheus-{VERSION}", build)


if __name__ == "__main__":
    sys.exit(main())
