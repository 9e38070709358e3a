"""The fleet to which everything happens that its traffic may not notice."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.failures.story import Story, story


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Story]:
    """Run one fleet for all tests of this folder, each of which leaves it as it was."""
    async with story(tmp_path_factory.mktemp("failures") / "fleet") as told:
        yield told
