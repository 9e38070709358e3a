"""What is checked and prepared before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_cli.place import PlaceError, check_runnable, claimed, free_ports, inherited
from specfleet_cli.tests.fleets import fleet


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError) as caught:
        check_runnable(fleet(spec__target__model=str(tmp_path)))

    assert str(caught.value) == (
        f"spec.target.model: {tmp_path} is no model, expected a directory with config.json"
    )


def test_a_fleet_without_engines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")

    with pytest.raises(PlaceError) as caught:
        check_runnable(fleet(spec__target__model=str(tmp_path), spec__replicas=0))

    assert "0 replicas" in str(caught.value)


def test_a_new_run_starts_without_the_state_of_the_last(tmp_path: Path) -> None:
    (tmp_path / "state" / "main-0").mkdir(parents=True)
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")

    with claimed(tmp_path):
        left = sorted(path.name for path in tmp_path.iterdir())

    assert left == ["logs", "mine.txt", "run.lock", "state"]
    assert list((tmp_path / "state").iterdir()) == []


def test_ports_differ() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20


def test_settings_of_another_fleet_are_not_inherited() -> None:
    environment = inherited({"PATH": "/bin", "SPECFLEET_AGENT_TRAIN": "true"})

    assert environment == {"PATH": "/bin"}
