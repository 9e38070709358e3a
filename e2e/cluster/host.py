"""What this machine must have to run containers, and its address in the cluster's network.

Nothing of the cluster listens on an address that other machines can reach.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools import debian
from tools.go import locked

NETWORK = ipaddress.ip_network("10.244.0.0/24")
"""Of the pods."""
ADDRESS = "10.245.0.1"
"""Of the API server, the kubelet and the name server."""

PLUGINS = Path("/usr/lib/cni")

_LOCK = Path("/run/specfleet-cluster.lock")
# Debian's packages of what the cluster does not build.
PACKAGES = {
    "runc": "runc",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "nft": "nftables",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


def missing() -> list[str]:
    """Say what keeps containers from running here, each with what would help; empty if nothing."""
    if os.geteuid() != 0:
        return ["this is not root, which containers need"]
    programs = [program for program in PACKAGES if shutil.which(program) is None]
    packages = sorted({PACKAGES[program] for program in programs})
    if not (PLUGINS / "ptp").exists():
        packages.append("containernetworking-plugins")
    return [f"Debian's {' '.join(packages)} is not installed"] if packages else []


def install() -> None:
    """Install what `missing` names, where that is a matter of Debian's packages."""
    packages = [*sorted(set(PACKAGES.values())), "containernetworking-plugins"]
    debian.install(packages, os.environ)


@contextmanager
def network() -> Iterator[None]:
    """Have the address, and packets forwarded between pods, for as long as the block runs.

    A second cluster on this machine waits for the first to end.
    """
    with locked(_LOCK):
        yield from _network()


def _network() -> Iterator[None]:
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    before = forwarding.read_text()
    _ip("address", "replace", f"{ADDRESS}/32", "dev", "lo")
    forwarding.write_text("1")
    try:
        yield
    finally:
        forwarding.write_text(before)
        _ip("address", "delete", f"{ADDRESS}/32", "dev", "lo")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
