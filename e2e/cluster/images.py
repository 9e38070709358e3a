"""Builds the product's images for a local cluster, without a registry and without Docker.

The Dockerfiles are those of production; their base here is made of Debian packages, and torch,
vLLM and the rest come from the test environment, which every container of the node can read
(`node.PACKAGES`). So `pip install` finds all that it should install, and images are small.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.commands import run
from e2e.cluster.node import PACKAGES, PAUSE
from e2e.cluster.programs import ROOT
from tools.go import cache, locked

TAG = "e2e"
BASE = "localhost/debian-python:1"

OTHER_OPERATOR = "operator-next"
RENDERED = "_SECONDS_TO_END"
"""What it renders otherwise: a pod's grace period is 31 s after the drain in place of 30."""

_SUITE = "bookworm"
_DEBIAN = ("python3", "python3-pip", "ca-certificates", "libnuma1")
# What differs from the base of production: packages are mounted, and pip is Debian's, whose
# setuptools would stand before the mounted one.
_BASE_FILE = f"""\
FROM scratch
ADD rootfs.tar /
RUN mkdir -p {PACKAGES} && cd /usr/lib/python3/dist-packages \\
    && rm -rf setuptools* pkg_resources wheel* && echo {PACKAGES} > environment.pth
ENV PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
"""


@dataclass(frozen=True, slots=True)
class Builder:
    """Buildah with storage of its own, so that a build touches no other images of the machine."""

    folder: Path

    def run(self, *arguments: str | Path) -> str:
        """Return what buildah prints; CommandFailed, with what it said, when it fails."""
        storage = ("--root", self.folder / "storage", "--runroot", "/run/specfleet-buildah")
        return run("buildah", *storage, *arguments)

    def build(self, name: str, context: Path, *arguments: str | Path) -> None:
        """Build an image from a folder."""
        quiet = ("--quiet", "--isolation", "chroot", "--layers", "--tag", name)
        self.run("bud", *quiet, *arguments, context)

    def archive(self, name: str, directory: Path) -> Path:
        """Write an image into a file that `node.import_image` takes."""
        file = directory / f"{re.sub('[^a-z0-9]+', '-', name)}.tar"
        file.unlink(missing_ok=True)
        self.run("push", "--quiet", name, f"docker-archive:{file}:{name}")
        return file


def builder(environment: Mapping[str, str]) -> Builder:
    """Return a builder whose storage outlives checkouts."""
    folder = cache(environment) / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return Builder(folder)


def product(name: str) -> str:
    """Return the name of one of the product's images in the local cluster."""
    return f"localhost/specfleet-{name}:{TAG}"


def build_base(images: Builder) -> None:
    """Build what the product's images are based on; the first time takes a minute."""
    with locked(images.folder / "base.lock"):
        root = images.folder / "rootfs.tar"
        if not root.exists():
            _bootstrap(root)
        context = images.folder / "base"
        context.mkdir(exist_ok=True)
        (context / "Dockerfile").write_text(_BASE_FILE)
        if not (context / "rootfs.tar").exists():
            (context / "rootfs.tar").hardlink_to(root)
        images.build(BASE, context)


def build_product(images: Builder, name: str) -> None:
    """Build `images/<name>/Dockerfile`."""
    images.build(
        product(name),
        ROOT,
        *("--file", ROOT / "images" / name / "Dockerfile"),
        *("--build-arg", f"BASE={BASE}"),
        *("--volume", f"{sysconfig.get_paths()['purelib']}:{PACKAGES}:ro"),
    )


def build_other_operator(images: Builder) -> None:
    """Build an operator that renders pods otherwise, as a later version may."""
    context = other_operator(images.folder / OTHER_OPERATOR)
    images.build(product(OTHER_OPERATOR), context)


def build_program(images: Builder, name: str, program: Path, *, base: str = "scratch") -> None:
    """Build an image whose one process is a static program, at /program."""
    context = static_program(images.folder / f"program-{program.name}", program, base=base)
    images.build(name, context)


def other_operator(context: Path) -> Path:
    """Fill a folder with what `build_other_operator` builds from, and return it."""
    context.mkdir(exist_ok=True)
    file = "/opt/specfleet/site/specfleet_operator/rendering/engine_pod.py"
    (context / "Dockerfile").write_text(
        f"""\
FROM {product("operator")}
USER 0
RUN grep -q "^{RENDERED} = 30$" {file} && sed -i "s/^{RENDERED} = 30$/{RENDERED} = 31/" {file} \\
    && python3 -m compileall -q -f --invalidation-mode unchecked-hash {file}
USER 10001:10001
"""
    )
    return context


def static_program(context: Path, program: Path, *, base: str) -> Path:
    """Fill a folder with what `build_program` builds from, and return it."""
    context.mkdir(exist_ok=True)
    shutil.copy2(program, context / "program")
    (context / "Dockerfile").write_text(
        f'FROM {base}\nCOPY program /program\nENTRYPOINT ["/program"]\n'
    )
    return context


def build_pause(images: Builder, binaries: Path) -> None:
    """Build the image whose process holds a pod's namespaces."""
    build_program(images, PAUSE, binaries / "pause")


def _bootstrap(archive: Path) -> None:
    folder = archive.with_suffix(".building")
    shutil.rmtree(folder, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(_DEBIAN)}"]
    subprocess.run([*command, _SUITE, folder, *_mirror()], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(folder / "var" / "cache" / "apt", ignore_errors=True)
    shutil.rmtree(folder / "var" / "lib" / "apt" / "lists", ignore_errors=True)
    partial = archive.with_suffix(".partial")
    subprocess.run(["tar", "--create", "--file", partial, "--directory", folder, "."], check=True)
    partial.rename(archive)
    shutil.rmtree(folder)


def _mirror() -> list[str]:
    """Return the mirror that this machine's own apt uses; none leaves debootstrap its own."""
    listed = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for file in listed:
        text = file.read_text() if file.exists() else ""
        for line in text.splitlines():
            found = re.match(
                r"(?:deb\s+(?:\[[^]]*\]\s+)?|URIs:\s*)(https?://\S+/debian)/?(?:\s|$)", line
            )
            if found is not None:
                return [found[1]]
    return []
