"""Where the tests' S3 server is kept and which Go may build it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.versitygw import VERSION, binary, cache, is_recent


@pytest.mark.parametrize(
    ("version", "recent"),
    [("go1.25", True), ("go1.26.8\n", True), ("go2.0", True), ("go1.19.8", False), ("", False)],
)
def test_a_go_that_is_too_old_is_not_used(version: str, recent: bool) -> None:
    assert is_recent(version) is recent


def test_the_users_cache_is_where_the_user_says(tmp_path: Path) -> None:
    assert cache({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "specfleet"
    assert cache({"XDG_CACHE_HOME": ""}) == Path.home() / ".cache" / "specfleet"


def test_what_was_built_is_not_built_again(tmp_path: Path) -> None:
    built = tmp_path / f"versitygw-{VERSION}"
    built.touch()

    assert binary(tmp_path, {}) == built
