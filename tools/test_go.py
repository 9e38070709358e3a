"""Which Go may build the programs of the tests, and where they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.go import cache, is_recent


@pytest.mark.parametrize(
    ("version", "recent"),
    [("go1.26", True), ("go1.26.8\n", True), ("go2.0", True), ("go1.25.9", False), ("", False)],
)
def test_a_go_that_is_too_old_is_not_used(version: str, recent: bool) -> None:
    assert is_recent(version) is recent


def test_the_users_cache_is_where_the_user_says(tmp_path: Path) -> None:
    assert cache({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "specfleet"
    assert cache({"XDG_CACHE_HOME": ""}) == Path.home() / ".cache" / "specfleet"
