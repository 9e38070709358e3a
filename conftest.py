"""Settings and fixtures of all tests."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from e2e.cluster.cluster import Kind
from e2e.cluster.control_plane import ControlPlane, control_plane
from e2e.cluster.programs import binaries
from tools import prometheus
from tools.go import cache

# A test that takes long on a busy machine is not a fault; how long examples may take says nothing.
settings.register_profile("specfleet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specfleet")

_BEGAN = pytest.StashKey[float]()


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
    parser.addoption(
        "--minutes",
        type=float,
        help="start no test later than this after the beginning; those left are skipped by name",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Note when the run began."""
    config.stash[_BEGAN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what would begin too late."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - item.config.stash[_BEGAN] > 60 * minutes:
        pytest.skip(f"not run: the {minutes:g} minutes of --minutes are over")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Let torch use one thread where it is loaded: more of them wait for each other on few cores.

    What a test starts as a process of its own chooses for itself.
    """
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def cluster_programs() -> Path:
    """Give the directory of kubectl, helm, kube-apiserver and the other programs of a cluster."""
    return binaries()


@pytest.fixture(scope="session")
def prometheus_programs() -> Path:
    """Give the directory of prometheus and promtool."""
    return prometheus.programs(cache(os.environ), os.environ)


@pytest.fixture(scope="session")
def api_server(
    cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Give a real API server without nodes; tests keep apart by namespaces of their own."""
    directory = tmp_path_factory.mktemp("control-plane")
    with control_plane(cluster_programs, directory, environment=os.environ) as plane:
        yield plane
