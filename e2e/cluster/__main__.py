"""`python -m e2e.cluster`: a Kubernetes cluster on this machine, with the product's images.

It stays until Ctrl-C. With its kubeconfig, `pytest -m cluster --cluster=current` takes seconds to
begin.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from e2e.cluster.cluster import Kind, NoCluster, choose, cluster


def main() -> int:
    """Start the cluster, say where it is, and wait."""
    parser = argparse.ArgumentParser(prog="e2e.cluster", description=__doc__)
    parser.add_argument("--kind", choices=[Kind.LOCAL, Kind.KIND], type=Kind)
    parser.add_argument("--directory", type=Path, default=Path("out/cluster"))
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        kind = given.kind or choose(os.environ)
    except NoCluster as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    print(f"cluster: {kind.value}, which takes a minute", file=sys.stderr)
    with cluster(kind, given.directory.resolve(), registry="") as made:
        print(f"export KUBECONFIG={made.client.kubeconfig} PATH={made.client.binaries}:$PATH")
        sys.stdout.flush()
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
