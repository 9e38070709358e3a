"""Fixtures of the operator's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane, kubectl
from specfleet_operator.connecting import Connection, connection_by_kubeconfig
from specfleet_operator.tests.charts import Helm
from specfleet_operator.tests.crds import CustomResources, custom_resources

CRDS = Path(__file__).resolve().parents[3] / "crds"


@pytest.fixture(scope="session")
def helm(cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give a Helm that knows no cluster."""
    return Helm(cluster_programs / "helm", tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def api(api_server: ControlPlane) -> Iterator[CustomResources]:
    """Give an API server that knows the fleet's kinds."""
    with custom_resources(api_server) as resources:
        yield resources


@pytest.fixture(scope="session")
def plane(api_server: ControlPlane) -> ControlPlane:
    """Give the API server with our definitions."""
    kubectl(api_server, "apply", "-f", str(CRDS))
    kubectl(api_server, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return api_server


@pytest.fixture
async def connection(plane: ControlPlane) -> AsyncIterator[Connection]:
    """Give a connection to that API server."""
    async with connection_by_kubeconfig(plane.kubeconfig, "test") as connection:
        yield connection
