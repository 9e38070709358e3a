"""Prints the software bill of materials of an image: what its locked requirements put into it.

`python tools/sbom.py operator` writes CycloneDX (JSON) to standard output. The same lock gives the
same bytes. What the base image brings is in the base image's own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://specfleet.dev/sbom")
BASE: Mapping[str, str] = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}
"""The Python of the images' base; of a lock for several, only what is for it is installed."""


@dataclass(frozen=True, slots=True)
class Package:
    """One locked package, with the hashes of the files it may be installed from."""

    name: str
    version: str
    sha256: tuple[str, ...]


def main() -> int:
    """Print the bill of the image that is named."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("image", help="a folder of images/ with a requirements.txt")
    options = arguments.parse_args()
    lock = ROOT / "images" / options.image / "requirements.txt"
    if not lock.exists():
        arguments.error(f"{options.image}: there is no {lock.relative_to(ROOT)}")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = bill(f"specfleet-{options.image}", version, packages(lock.read_text()))
    json.dump(found, sys.stdout, indent=2)
    print()
    return 0


def packages(lock: str) -> Iterator[Package]:
    """Yield what a lock installs in the images' base; ValueError for what is not pinned."""
    for line in lock.replace("\\\n", " ").splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        pin, *hashes = re.split(r"\s+--hash=sha256:", text)
        requirement = Requirement(pin)
        (specifier,) = requirement.specifier or [None]
        if specifier is None or specifier.operator != "==" or not hashes:
            raise ValueError(f"{pin}: is not pinned, expected name==version with hashes")
        if requirement.marker is None or requirement.marker.evaluate(dict(BASE)):
            name = canonicalize_name(requirement.name)
            yield Package(name, specifier.version, tuple(hashes))


def bill(
    image: str, version: str, contents: Iterable[Package], **properties: str
) -> dict[str, Any]:
    """Return the CycloneDX document; `properties` say what else is known of the image."""
    components = [component(package) for package in contents]
    about = [{"name": f"specfleet:{name}", "value": one} for name, one in properties.items()]
    identity = json.dumps([image, version, components, about])
    container = {"type": "container", "name": image, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, identity)}",
        "version": 1,
        "metadata": {"component": container | ({"properties": about} if about else {})},
        "components": components,
    }


def component(package: Package) -> dict[str, Any]:
    """Return one entry of the document.

    A package has one hash per file of a release; which file was taken is the installer's choice, so
    they are properties, and not the hashes of the component.
    """
    url = f"pkg:pypi/{package.name}@{package.version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
        "properties": [{"name": "specfleet:sha256", "value": one} for one in package.sha256],
    }


if __name__ == "__main__":
    sys.exit(main())
