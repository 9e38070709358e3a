"""Installs Debian's packages, which takes root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping


def install(packages: Iterable[str], environment: Mapping[str, str]) -> None:
    """Install packages without asking; CalledProcessError when apt-get fails."""
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
    ):
        subprocess.run(
            command,
            env={**environment, "DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
