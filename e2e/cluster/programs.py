"""Where the programs of a local cluster are, built when they are missing."""

from __future__ import annotations

import os
from pathlib import Path

from tools.cluster.programs import programs
from tools.go import cache

ROOT = Path(__file__).resolve().parents[2]


def binaries() -> Path:
    """Return the directory of kubectl, helm, kube-apiserver and the others."""
    return programs(cache(os.environ), os.environ)
