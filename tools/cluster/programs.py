"""Prints the directory of the local cluster's programs; builds what is missing first.

Kubernetes, CoreDNS, Helm, etcd and containerd are built from their Go modules, and the program of
pause containers from C, into the user's cache: `python -m tools.cluster.programs`. The first time
takes about ten minutes on two cores.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.go import built_once, cache, go, print_built

HERE = Path(__file__).resolve().parent
KUBERNETES = "v1.36.3"

_VERSION_PACKAGE = "k8s.io/component-base/version"
_VERSION_FLAGS = (
    f"-X {_VERSION_PACKAGE}.gitVersion={KUBERNETES} -X {_VERSION_PACKAGE}.gitMajor=1 "
    f"-X {_VERSION_PACKAGE}.gitMinor=36 -X {_VERSION_PACKAGE}.gitTreeState=clean"
)


@dataclass(frozen=True, slots=True)
class Program:
    """One executable: its package, in which module of this folder, and the names it goes by."""

    name: str
    module: str
    package: str
    flags: str = ""
    aliases: tuple[str, ...] = ()


PROGRAMS = (
    Program(
        "kubernetes",
        "kubernetes",
        "./components",
        _VERSION_FLAGS,
        (
            "kube-apiserver",
            "kube-controller-manager",
            "kube-proxy",
            "kube-scheduler",
            "kubectl",
            "kubelet",
        ),
    ),
    Program("coredns", "kubernetes", "./coredns"),
    Program("helm", "kubernetes", "helm.sh/helm/v4/cmd/helm"),
    Program("etcd", "runtime", "go.etcd.io/etcd/server/v3"),
    Program("containerd", "runtime", "github.com/containerd/containerd/v2/cmd/containerd"),
    Program(
        "containerd-shim-runc-v2",
        "runtime",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    ),
    Program("ctr", "runtime", "github.com/containerd/containerd/v2/cmd/ctr"),
)


def main() -> int:
    """Print the directory."""
    return print_built("cluster", lambda: programs(cache(os.environ), os.environ))


def programs(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the directory that holds every program under every name."""

    def build(directory: Path) -> None:
        directory.mkdir()
        _build(directory, go(folder, environment), environment)

    return built_once(folder / f"cluster-{digest(HERE)}", build)


def digest(sources: Path) -> str:
    """Return a digest of everything that decides what the programs are."""
    files = sorted(
        path
        for path in sources.rglob("*")
        if path.is_file() and path.suffix in {".c", ".go", ".mod", ".py", ".sum"}
    )
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(sources)}\n{path.stat().st_size}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def _build(directory: Path, compiler: Path, environment: Mapping[str, str]) -> None:
    settings = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly"}
    for program in PROGRAMS:
        started = time.monotonic()
        print(f"cluster: building {program.name} with {compiler}", file=sys.stderr, flush=True)
        target = directory / program.name
        subprocess.run(
            [
                *(compiler, "build", "-trimpath", "-ldflags", f"-s -w {program.flags}"),
                *("-o", target, program.package),
            ],
            cwd=HERE / program.module,
            env={**environment, **settings},
            stdout=sys.stderr,
            check=True,
        )
        for alias in program.aliases:
            (directory / alias).symlink_to(program.name)
        seconds = time.monotonic() - started
        print(f"cluster: built {program.name} in {seconds:.0f} s", file=sys.stderr, flush=True)
    # The containers' programs need a compiler only here; a machine without one runs the tests
    # that need an API server and no pods.
    if shutil.which("cc", path=environment.get("PATH")) is not None:
        pause = directory / "pause"
        subprocess.run(
            ["cc", "-Os", "-static", "-o", pause, HERE / "pause.c"],
            env=dict(environment),
            stdout=sys.stderr,
            check=True,
        )


if __name__ == "__main__":
    sys.exit(main())
