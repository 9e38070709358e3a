"""Prints the path of a headless Chromium, in which tests and pictures open pages.

Debian's package is installed when there is none: `python -m tools.browser`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from tools import debian

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-dejavu-core")


class NoBrowser(RuntimeError):
    """There is no browser, and none can be installed; the message says what would help."""


def main() -> int:
    """Print the path."""
    try:
        print(binary(os.environ))
    except NoBrowser as error:
        print(f"browser: {error}", file=sys.stderr)
        return 1
    return 0


def binary(environment: Mapping[str, str]) -> str:
    """Return the path of a browser; as root on Debian or Ubuntu one is installed if need be."""
    found = find(environment)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install(environment)
        found = find(environment)
    if found is None:
        raise NoBrowser(
            f"none of {', '.join(PROGRAMS)} is on the path, expected one "
            f"(Debian: apt-get install {' '.join(PACKAGES)})"
        )
    return found


def find(environment: Mapping[str, str]) -> str | None:
    """Return the path of a browser that is there, None when none is."""
    path = environment.get("PATH", "")
    return next(filter(None, (shutil.which(name, path=path) for name in PROGRAMS)), None)


def _install(environment: Mapping[str, str]) -> None:
    print(f"browser: installing Debian's {' '.join(PACKAGES)}", file=sys.stderr)
    debian.install(PACKAGES, environment)


if __name__ == "__main__":
    sys.exit(main())
