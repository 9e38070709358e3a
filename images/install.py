"""Copies packages of this repository into a directory of Python's path, as an image has them.

The directory also gets the distribution's name, version and entry points, by which programs find
the version and vLLM finds the plugin. Bytecode is checked against nothing: an image never changes.
Run by the Dockerfiles; needs nothing but Python.
"""

from __future__ import annotations

import argparse
import compileall
import py_compile
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("__pycache__", "tests")


def main() -> int:
    """Install the packages named by their folders."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--into", type=Path, required=True, metavar="DIRECTORY")
    arguments.add_argument("packages", nargs="+", type=Path, metavar="FOLDER")
    options = arguments.parse_args()
    install(options.packages, options.into)
    return 0


def install(packages: Sequence[Path], into: Path) -> None:
    """Copy the packages and describe the distribution; ValueError for what is no package."""
    for package in packages:
        if not (package / "__init__.py").is_file():
            raise ValueError(f"{package}: has no __init__.py, expected a package")
        shutil.copytree(package, into / package.name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    describe(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"], into)
    compiled = compileall.compile_dir(
        into, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    if not compiled:
        raise ValueError(f"{into}: has a module that does not compile")


def describe(project: Mapping[str, Any], into: Path) -> None:
    """Write what `importlib.metadata` reads: name, version, and entry points into what is there."""
    info = into / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n"
        f"Summary: {project['description']}\nLicense-Expression: {project['license']}\n"
    )
    entry_points = "".join(
        f"[{group}]\n{name} = {target}\n"
        for group, entries in project["entry-points"].items()
        for name, target in entries.items()
        if (into / re.split("[.:]", target)[0]).is_dir()
    )
    (info / "entry_points.txt").write_text(entry_points)


if __name__ == "__main__":
    sys.exit(main())
