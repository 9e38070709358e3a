"""A browser is found by any of its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.browser import PROGRAMS, find


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_browser_on_the_path_is_found(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.touch(mode=0o755)

    assert find({"PATH": str(tmp_path)}) == str(program)


def test_where_none_is_there_is_none(tmp_path: Path) -> None:
    assert find({"PATH": str(tmp_path)}) is None
