"""Where the tests' S3 server is kept."""

from __future__ import annotations

from pathlib import Path

from tools.versitygw import VERSION, binary


def test_what_was_built_is_not_built_again(tmp_path: Path) -> None:
    built = tmp_path / f"versitygw-{VERSION}"
    built.touch()

    assert binary(tmp_path, {}) == built
