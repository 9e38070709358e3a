"""When the local cluster's programs are built again."""

from __future__ import annotations

from pathlib import Path

from tools.cluster.programs import HERE, digest, programs


def test_programs_of_the_same_sources_are_not_built_again(tmp_path: Path) -> None:
    built = tmp_path / f"cluster-{digest(HERE)}"
    built.mkdir()

    assert programs(tmp_path, {}) == built


def test_another_version_of_a_module_is_another_build(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("require example.org/a v1.0.0\n")
    before = digest(tmp_path)

    (tmp_path / "go.mod").write_text("require example.org/a v1.0.1\n")

    assert digest(tmp_path) != before
