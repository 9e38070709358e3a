"""Settings and fixtures of all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from e2e.cluster.cluster import Kind
from e2e.cluster.control_plane import ControlPlane, control_plane
from e2e.cluster.programs import binaries

# A test that takes long on a busy machine is not a fault; how long examples may take says nothing.
settings.register_profile("specfleet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specfleet")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run of the tests choose its cluster."""
    parser.addoption(
        "--cluster",
        choices=[kind.value for kind in Kind],
        help="cluster of the tests marked `cluster`; default: the first of local and kind that "
        "works. `current` installs into the cluster of your kubeconfig.",
    )
    parser.addoption(
        "--registry",
        default="localhost",
        help="with --cluster=current: where the images are pulled from",
    )


@pytest.fixture(scope="session")
def cluster_programs() -> Path:
    """Give the directory of kubectl, helm, kube-apiserver and the other programs of a cluster."""
    return binaries()


@pytest.fixture(scope="session")
def api_server(
    cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Give a real API server without nodes; tests keep apart by namespaces of their own."""
    directory = tmp_path_factory.mktemp("control-plane")
    with control_plane(cluster_programs, directory, environment=os.environ) as plane:
        yield plane
