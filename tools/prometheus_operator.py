"""Prints the directory of the Prometheus Operator's definitions, which tests apply.

They are in its Go module, which is downloaded into the user's cache when it is missing and checked
against the module's known sum: `python -m tools.prometheus_operator`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.go import built_once, cache, go, print_built

VERSION = "v0.82.2"
DEFINITIONS = tuple(
    f"monitoring.coreos.com_{plural}.yaml"
    for plural in ("podmonitors", "prometheusrules", "servicemonitors")
)

_MODULE = "github.com/prometheus-operator/prometheus-operator"
_SUM = "h1:qalPLM8wkvCtu9aHcoSKGDpCZR3aWRMKeHev5WomTBQ="


def main() -> int:
    """Print the directory."""
    return print_built("prometheus-operator", lambda: definitions(cache(os.environ), os.environ))


def definitions(folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the directory that holds the definitions."""

    def build(directory: Path) -> None:
        print(f"prometheus-operator: downloading {_MODULE}@{VERSION}", file=sys.stderr)
        answer = subprocess.run(
            [go(folder, environment), "mod", "download", "-json", f"{_MODULE}@{VERSION}"],
            cwd=folder,
            env=dict(environment),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        module = json.loads(answer.stdout)
        if module["Sum"] != _SUM:
            raise ValueError(f"{_MODULE}@{VERSION}: its sum is {module['Sum']}, expected {_SUM}")
        directory.mkdir()
        for name in DEFINITIONS:
            place = Path(module["Dir"], "example", "prometheus-operator-crd", name)
            shutil.copyfile(place, directory / name)

    return built_once(folder / f"prometheus-operator-{VERSION}", build)


if __name__ == "__main__":
    sys.exit(main())
