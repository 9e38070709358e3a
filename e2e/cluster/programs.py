"""Where the programs of a local cluster are, built when they are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def binaries() -> Path:
    """Return the directory of kubectl, helm, kube-apiserver and the others."""
    built = subprocess.run(
        [sys.executable, "-m", "tools.cluster.programs"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Path(built.stdout.strip())
