"""Fixtures of every test that runs on both kinds of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specfleet_common.store.base import Store
from specfleet_common.store.location import DirectoryLocation, Location, S3Location
from specfleet_common.store.opening import open_store
from specfleet_common.store.testing import ENVIRONMENT, Server, s3_server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return the server that all tests of a session share."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(params=["directory", "s3"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """Return an empty place in a store of each kind."""
    if request.param == "directory":
        return DirectoryLocation(path=tmp_path / "store")
    server: Server = request.getfixturevalue("s3")
    return server.location(f"{tmp_path.parent.name}/{tmp_path.name}")


@pytest.fixture
def store(location: Location) -> Store:
    """Return the store at that place."""
    return open_store(location, ENVIRONMENT)


@pytest.fixture
def root(location: Location, request: pytest.FixtureRequest) -> Path:
    """Return the directory in which the store's entries are files."""
    if isinstance(location, S3Location):
        server: Server = request.getfixturevalue("s3")
        return server.root / location.prefix
    return location.path
