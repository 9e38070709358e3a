"""Where the tests' Prometheus is kept."""

from __future__ import annotations

from pathlib import Path

from tools.prometheus import VERSION, programs


def test_what_was_built_is_not_built_again(tmp_path: Path) -> None:
    built = tmp_path / f"prometheus-{VERSION}"
    built.mkdir()

    assert programs(tmp_path, {}) == built
