"""The cluster of the end-to-end tests, whichever it is: made here, kind's, or somebody's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from e2e.cluster import host, images
from e2e.cluster.client import Client
from e2e.cluster.commands import run
from e2e.cluster.control_plane import control_plane
from e2e.cluster.node import PAUSE, import_image, node
from e2e.cluster.programs import ROOT, binaries
from images.choose_torch import LOCKED
from tools.go import cache
from tools.versitygw import binary as versitygw

PRODUCT = ("agent", "aggregator", "engine-cpu", "operator", "simulator")
S3_IMAGE = images.product("s3")
MODELS = ROOT / "examples"
"""A folder of this machine that the cluster's node has at the same path."""

_KIND = "specfleet-e2e"
_PRODUCTION_BASE = "python:3.11-slim-bookworm"


class Kind(StrEnum):
    """Where the cluster comes from."""

    LOCAL = "local"
    """Made on this machine from the programs in the cache; needs root."""
    KIND = "kind"
    """Made by kind; needs Docker."""
    CURRENT = "current"
    """The one of the current kubeconfig, which is somebody's: never chosen by default."""


class NoCluster(RuntimeError):
    """No cluster can be had here; the message says what each kind lacks."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that has the product's images and a node with the folder `MODELS`."""

    kind: Kind
    client: Client
    image: Callable[[str], str]
    """Returns the reference of one of the product's images."""


def choose(environment: Mapping[str, str]) -> Kind:
    """Return the first kind that works here; NoCluster says why none does."""
    lacking = host.missing()
    if not lacking or (os.geteuid() == 0 and shutil.which("apt-get")):
        return Kind.LOCAL
    if all(shutil.which(program, path=environment.get("PATH")) for program in ("kind", "docker")):
        return Kind.KIND
    raise NoCluster(
        f"local: {', '.join(lacking)}; kind: kind and docker are not both on the path; "
        "current: only with --cluster=current, because the tests install things into it"
    )


@contextmanager
def cluster(kind: Kind, directory: Path, registry: str) -> Iterator[Cluster]:
    """Have a cluster; `registry` is where a cluster of somebody's pulls the images from."""
    if kind is Kind.LOCAL:
        with _local(directory) as made:
            yield made
    elif kind is Kind.KIND:
        with _kind(directory) as made:
            yield made
    else:
        kubeconfig = Path(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
        client = Client(binaries(), kubeconfig)
        yield Cluster(kind, client, lambda name: f"{registry}/specfleet-{name}:{images.TAG}")


@contextmanager
def _local(directory: Path) -> Iterator[Cluster]:
    if host.missing():
        host.install()
    programs = binaries()
    builder = images.builder(os.environ)
    images.build_base(builder)
    images.build_pause(builder, programs)
    server = versitygw(cache(os.environ), os.environ)
    images.build_program(builder, S3_IMAGE, server, base=images.BASE)
    for name in PRODUCT:
        images.build_product(builder, name)
    images.build_other_operator(builder)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    with (
        host.network(),
        control_plane(programs, directory, address=host.ADDRESS, environment=environment) as plane,
        node(plane),
    ):
        others = (PAUSE, S3_IMAGE, images.product(images.OTHER_OPERATOR))
        for name in (*others, *map(images.product, PRODUCT)):
            archive = builder.archive(name, directory)
            import_image(plane, archive)
            archive.unlink()
        yield Cluster(Kind.LOCAL, plane.client, images.product)


@contextmanager
def _kind(directory: Path) -> Iterator[Cluster]:
    kubeconfig = directory / "kubeconfig"
    directory.mkdir(parents=True, exist_ok=True)
    named = ("--name", _KIND)
    configuration = (ROOT / "e2e" / "kind.yaml").read_text().replace("MODELS", str(MODELS))
    file = directory / "kind.yaml"
    file.write_text(configuration)
    run("kind", "create", "cluster", *named, "--config", file, "--kubeconfig", kubeconfig)
    torch = os.environ.get("TORCH_INDEX", LOCKED)
    try:
        server = versitygw(cache(os.environ), os.environ)
        contexts = {
            S3_IMAGE: images.static_program(directory / "s3", server, base=_PRODUCTION_BASE),
            images.product(images.OTHER_OPERATOR): images.other_operator(
                directory / images.OTHER_OPERATOR
            ),
        }
        for name in PRODUCT:
            dockerfile = ROOT / "images" / name / "Dockerfile"
            named_so = ("--tag", images.product(name), "--file", dockerfile)
            run("docker", "build", *named_so, "--build-arg", f"TORCH_INDEX={torch}", ROOT)
        for image, context in contexts.items():
            run("docker", "build", "--tag", image, context)
        for image in (*contexts, *map(images.product, PRODUCT)):
            run("kind", "load", "docker-image", *named, image)
        yield Cluster(Kind.KIND, Client(binaries(), kubeconfig), images.product)
    finally:
        run("kind", "delete", "cluster", *named)
