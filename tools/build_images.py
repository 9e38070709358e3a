"""Builds the images as they are to be shipped, and writes the bill of materials of each.

`python -m tools.build_images --base python:3.11-slim-bookworm@sha256:… --torch-index URL` wants the
base by its digest, so that the same commit gives the same image, and for the agent and the engine
an index with a torch without CUDA. A bill is of one image: it names the image's id and its base.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from images.choose_torch import LOCKED, split
from tools.sbom import ROOT, Package, bill, packages

NAMES = ("operator", "aggregator", "agent", "engine-cpu", "simulator")
OUT = Path("out/images")
_WITH_DIGEST = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_WITH_TORCH = ("agent", "engine-cpu")


class BuildError(ValueError):
    """The images cannot be built like that; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Options:
    """What all images are built with."""

    base: str
    torch_index: str
    torch_sha256: str
    registry: str
    program: str
    version: str
    revision: str


def main() -> int:
    """Build what is named, one after the other."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--base", required=True, help="image with Python 3.11, with its digest")
    arguments.add_argument(
        "--torch-index", default="", help=f"of a torch without CUDA; or {LOCKED}"
    )
    arguments.add_argument(
        "--torch-sha256", default="", help="of the wheels that the index has, with spaces between"
    )
    arguments.add_argument("--registry", default="", help="what the images' names begin with")
    arguments.add_argument("--program", default="docker", help="docker, podman or buildah")
    arguments.add_argument("names", nargs="*", metavar="IMAGE", help=f"of {', '.join(NAMES)}")
    given = vars(arguments.parse_args())
    names = given.pop("names") or NAMES
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    options = Options(**given, version=project["version"], revision=head.stdout.strip())
    try:
        check(options, names)
    except BuildError as error:
        arguments.error(str(error))
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    for name in names:
        print(f"images: {tag(name, options)}", flush=True)
        done = subprocess.run(command(name, options), cwd=ROOT, check=False)
        if done.returncode != 0:
            return done.returncode
        image = (ROOT / id_file(name)).read_text().strip()
        text = json.dumps(bill_of(name, image, options), indent=2)
        (ROOT / OUT / f"specfleet-{name}.cdx.json").write_text(f"{text}\n")
    return 0


def check(options: Options, names: Sequence[str]) -> None:
    """Raise BuildError when what is built would not be what is meant."""
    if unknown := [name for name in names if name not in NAMES]:
        raise BuildError(f"{unknown[0]}: is no image, expected one of {', '.join(NAMES)}")
    if _WITH_DIGEST.fullmatch(options.base) is None:
        raise BuildError(
            f"--base: is {options.base!r}, expected an image with its digest, such as "
            "python:3.11-slim-bookworm@sha256:… (`docker buildx imagetools inspect` shows it)"
        )
    if not options.torch_index and any(name in _WITH_TORCH for name in names):
        raise BuildError(
            "--torch-index: is missing, expected the index that has torch without CUDA, or "
            f"{LOCKED} for the locked one, with 5 GB of CUDA"
        )


def command(name: str, options: Options) -> list[str]:
    """Return the command that builds an image."""
    values = {"BASE": options.base, "VERSION": options.version, "REVISION": options.revision}
    if name in _WITH_TORCH:
        values |= {"TORCH_INDEX": options.torch_index, "TORCH_SHA256": options.torch_sha256}
    given = [part for key, one in values.items() for part in ("--build-arg", f"{key}={one}")]
    label = ("--label", f"org.opencontainers.image.base.name={options.base}")
    place = ("--iidfile", str(id_file(name)), "--file", f"images/{name}/Dockerfile")
    return [options.program, "build", "--tag", tag(name, options), *given, *label, *place, "."]


def tag(name: str, options: Options) -> str:
    """Return the name of an image."""
    registry = f"{options.registry.rstrip('/')}/" if options.registry else ""
    return f"{registry}specfleet-{name}:{options.version}"


def id_file(name: str) -> Path:
    """Return where the builder writes the id of an image."""
    return OUT / f"specfleet-{name}.id"


def bill_of(name: str, image: str, options: Options) -> dict[str, Any]:
    """Return the bill of an image that has been built; `image` is its id."""
    lock = (ROOT / "images" / name / "requirements.txt").read_text()
    contents: tuple[Package, ...] = tuple(packages(lock))
    if name in _WITH_TORCH and options.torch_index != LOCKED:
        rest, torch = split(lock)
        pinned = (one.partition("==") for one in torch)
        # One of the digests is the wheel's; which one, only the index knows.
        known = tuple(options.torch_sha256.split())
        contents = (*packages(rest), *(Package(one, version, known) for one, _, version in pinned))
    about = {"id": image, "base": options.base, "revision": options.revision}
    return bill(f"specfleet-{name}", options.version, contents, **about)


if __name__ == "__main__":
    sys.exit(main())
