"""Fixtures of the operator's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.connecting import Connection, connection_by_kubeconfig
from specfleet_operator.tests.charts import Helm
from specfleet_operator.tests.crds import CustomResources, custom_resources, define
from specfleet_operator.tests.scenes import Scene


@pytest.fixture(scope="session")
def helm(cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give a Helm that knows no cluster."""
    return Helm(cluster_programs / "helm", tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def plane(api_server: ControlPlane) -> ControlPlane:
    """Give the API server with our definitions."""
    define(api_server)
    return api_server


@pytest.fixture(scope="session")
def api(plane: ControlPlane) -> Iterator[CustomResources]:
    """Give an administrator's client for the fleet's kinds."""
    with custom_resources(plane) as resources:
        yield resources


@pytest.fixture
async def connection(plane: ControlPlane) -> AsyncIterator[Connection]:
    """Give a connection to that API server."""
    async with connection_by_kubeconfig(plane.kubeconfig, "test") as connection:
        yield connection


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """Give one operator over an API server in memory, for whole passes."""
    scene = Scene()
    yield scene
    await scene.world.aggregators.stop()
