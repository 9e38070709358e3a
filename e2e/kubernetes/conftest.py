"""What the stories share: one cluster, one S3 server in it, one installed chart."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Iterator

import pytest

from e2e.cluster.cluster import Cluster, Kind, choose, cluster
from e2e.kubernetes import manifests
from e2e.kubernetes.fleet import Fleet
from e2e.kubernetes.installation import Installation
from e2e.kubernetes.s3 import S3, start_s3
from e2e.kubernetes.waiting import until


@pytest.fixture(scope="session", name="cluster")
def cluster_(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Give a cluster; that there is none is a failure, not a reason to skip."""
    asked = request.config.getoption("--cluster")
    kind = Kind(asked) if asked else choose(os.environ)
    print(f"cluster: {kind.value}")
    directory = tmp_path_factory.mktemp("cluster")
    with cluster(kind, directory, request.config.getoption("--registry")) as made:
        yield made


@pytest.fixture(scope="session")
def s3(cluster: Cluster) -> S3:
    """Give the S3 server of all fleets, which can be reached from here, or no test means much."""
    started = start_s3(cluster.client, cluster.image("s3"), "s3")
    service = cluster.client.get("-n", "s3", "service", "s3")["spec"]
    address = (service["clusterIP"], service["ports"][0]["port"])
    until(
        lambda: is_reachable(address),
        what=f"{address} reachable from here, as tests send traffic to Services "
        "(kind: `ip route add <service range> via <address of the node>`)",
        seconds=20,
    )
    return started


@pytest.fixture(scope="session")
def installation(cluster: Cluster) -> Installation:
    """Give the installed chart."""
    installed = Installation(cluster)
    installed.upgrade()
    return installed


@pytest.fixture
def fleet(
    request: pytest.FixtureRequest, cluster: Cluster, s3: S3, installation: Installation
) -> Iterator[Fleet]:
    """Give a fleet that is not there yet, in a namespace of its own, which goes with the test."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))
    # In a cluster that stays, the namespace of the last run may still be on its way out.
    name = f"{words[:30].strip('-')}-{secrets.token_hex(2)}"
    restricted = request.node.get_closest_marker("restricted") is not None
    cluster.client.apply(manifests.namespace(name, restricted=restricted))
    yield Fleet(cluster, s3, name, "fleet")
    cluster.client.kubectl("delete", "namespace", name, "--wait=false")


def is_reachable(address: tuple[str, int]) -> bool:
    """Say whether somebody listens."""
    try:
        socket.create_connection(address, timeout=5).close()
    except OSError:
        return False
    return True
