"""Write the locked requirements: exact versions with hashes, made from `pyproject.toml` by uv.

Locks hold for the environments named in `[tool.uv]` and name no index. Versions already locked
stay as they are; delete a lock to move everything in it to the newest versions. Images get the
versions of the development environment: what the tests have run is what is shipped.
`--check` only says whether the locks still belong to `pyproject.toml`; it needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "pyproject.toml"
SOURCES: Mapping[str, tuple[str, ...]] = {
    "requirements/bootstrap.txt": ("--group", "bootstrap"),
    "requirements/dev.txt": (PROJECT, "--extra", "dev"),
    **{
        f"images/{image}/requirements.txt": (
            *(PROJECT, "--extra", image, "--constraint", "requirements/dev.txt"),
        )
        for image in ("agent", "aggregator", "engine-cpu", "operator", "simulator")
    },
}


def fingerprint(project: Mapping[str, Any], source: tuple[str, ...]) -> str:
    """Return a digest of everything in `pyproject.toml` that decides what a lock contains."""
    metadata = project["project"]
    inputs = {
        "source": source,
        "python": metadata["requires-python"],
        "dependencies": metadata["dependencies"],
        "extras": metadata["optional-dependencies"],
        "groups": project["dependency-groups"],
        "uv": project["tool"]["uv"],
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def header(digest: str) -> str:
    """Return the first lines of a lock: who made it, and from what."""
    return f"# Made by `make lock` from {PROJECT} ({digest}). Do not edit by hand.\n"


def compile_lock(uv: str, lock: Path, source: tuple[str, ...], digest: str) -> None:
    """Resolve one lock, staying with the versions it already holds."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    command = [uv, "pip", "compile", *source, "--universal", "--generate-hashes"]
    subprocess.run(
        [*command, "--no-header", "--quiet", "--output-file", str(lock.relative_to(ROOT))],
        cwd=ROOT,
        check=True,
    )
    lock.write_text(header(digest) + lock.read_text())


def is_current(lock: Path, digest: str) -> bool:
    """Say whether the lock was made from the inputs with this digest."""
    return lock.exists() and lock.read_text().startswith(header(digest))


def main() -> int:
    """Write all locks, or with --check name those that are out of date."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--uv", default="uv", help="the uv program to use")
    arguments.add_argument("--check", action="store_true", help="only compare")
    options = arguments.parse_args()
    project = tomllib.loads((ROOT / PROJECT).read_text())
    digests = {name: fingerprint(project, source) for name, source in SOURCES.items()}
    if options.check:
        stale = [name for name, digest in digests.items() if not is_current(ROOT / name, digest)]
        for name in stale:
            print(f"{name} is not made from today's {PROJECT}: run `make lock`, commit the result")
        return 1 if stale else 0
    for name, source in SOURCES.items():
        print(f"lock: {name}")
        try:
            compile_lock(options.uv, ROOT / name, source, digests[name])
        except subprocess.CalledProcessError as error:
            return int(error.returncode)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
