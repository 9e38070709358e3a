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
    with claimed(tmp_path, tmp_path / "store"):
        (tmp_path / "state" / "main-0").mkdir()
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")

    with claimed(tmp_path, tmp_path / "store"):
        left = sorted(path.name for path in tmp_path.iterdir())

    assert left == ["logs", "mine.txt", "run.lock", "state", "store"]
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize("name", ["logs", "state"])
def test_a_directory_that_no_run_has_written_is_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    for _ in range(2):
        with pytest.raises(PlaceError) as caught, claimed(tmp_path, tmp_path / "store"):
            pass

    assert str(caught.value) == (
        f"--out: {tmp_path / name} exists and is not from a specfleet run, which would delete it;"
        " give another --out, or move it away"
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["logs", "state/store"])
def test_a_store_that_the_next_run_would_delete_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlaceError) as caught, claimed(tmp_path, tmp_path / name):
        pass

    assert f"spec.store.directory.path: {tmp_path / name} is in" in str(caught.value)


def test_two_runs_cannot_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"

    with (
        claimed(tmp_path / "one", store),
        pytest.raises(PlaceError) as caught,
        claimed(tmp_path / "two", store),
    ):
        pass

    assert str(caught.value) == (
        f"spec.store.directory.path: {store} is used by another specfleet run, expected a"
        " directory of its own"
    )


def test_ports_differ() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20


def test_settings_of_another_fleet_are_not_inherited() -> None:
    environment = inherited({"PATH": "/bin", "SPECFLEET_AGENT_TRAIN": "true"})

    assert environment == {"PATH": "/bin"}
