"""Snapshots of the rendered chart: the defaults whole, other values as their difference.

`python -m specfleet_operator.tests.chart_snapshots` writes them again.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.cluster.programs import binaries
from specfleet_operator.tests.charts import NO_CRDS, Helm

DIRECTORY = Path(__file__).with_suffix("")
DEFAULTS = "defaults.yaml"
DIFFERENT: Mapping[str, Mapping[str, Any]] = {
    "namespaced.diff": {
        "watchNamespaces": ["team-a", "team-b"],
        "rbac": {"aggregateRoles": False, "issuerDiscovery": False},
    },
    "registry.diff": {
        "images": {
            "registry": "registry.example.com/specfleet",
            "pullPolicy": "Always",
            "pullSecrets": [{"name": "regcred"}],
            "operator": {"digest": "sha256:" + "0" * 64},
            "agent": {"tag": "v2"},
            "defaultEngine": "registry.example.com/vllm-openai:v1",
        },
    },
    "placement.diff": {
        "operator": {
            "replicas": 3,
            "podLabels": {"team": "inference"},
            "podAnnotations": {"example.com/note": "text"},
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "infra", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}},
            "topologySpreadConstraints": [],
            "priorityClassName": "system-cluster-critical",
        },
        "serviceAccount": {"name": "ours", "annotations": {"example.com/note": "text"}},
    },
    "network.diff": {
        "networkPolicy": {
            "apiServerPorts": [6443],
            "apiServerCidrs": ["192.0.2.0/24"],
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        },
    },
}


def rendered(helm: Helm) -> dict[str, str]:
    """Return every snapshot by the name of its file.

    Without the definitions, which have a generator and tests of their own.
    """
    plain = helm.text(NO_CRDS)
    return {DEFAULTS: plain} | {
        name: difference(plain, helm.text({**values, **NO_CRDS}))
        for name, values in DIFFERENT.items()
    }


def difference(plain: str, other: str) -> str:
    """Return what changes, in the words of `diff`."""
    lines = difflib.unified_diff(
        plain.splitlines(), other.splitlines(), "defaults", "these values", lineterm="", n=2
    )
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Write all snapshots."""
    DIRECTORY.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        for name, text in rendered(Helm(binaries() / "helm", Path(home))).items():
            (DIRECTORY / name).write_text(text)
            print(os.path.relpath(DIRECTORY / name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
