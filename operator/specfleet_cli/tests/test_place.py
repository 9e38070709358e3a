"""What is checked and prepared before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_cli.place import (
    PlaceError,
    check_runnable,
    check_store,
    claimed,
    free_ports,
    inherited,
    write_files,
)
from specfleet_cli.plan import Place, num_ports, plan
from specfleet_cli.tests.fleets import fleet
from specfleet_common.api.learning import parse_settings
from specfleet_common.store.location import DirectoryLocation, S3Location

BUCKET = S3Location(endpoint="http://localhost:9000", bucket="fleets", prefix="default/tiny")


def directory(path: Path) -> DirectoryLocation:
    return DirectoryLocation(path=path)


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError) as caught:
        check_runnable(fleet(spec__target__model=str(tmp_path)))

    assert str(caught.value) == (
        f"spec.target.model: {tmp_path} is no model, expected a directory with config.json"
    )


def test_a_model_on_a_volume_of_a_cluster_is_refused() -> None:
    source = {"persistentVolumeClaim": {"claimName": "models"}}

    with pytest.raises(PlaceError) as caught:
        check_runnable(fleet(spec__target__model="tiny", spec__target__source=source))

    assert str(caught.value) == (
        "spec.target.source.persistentVolumeClaim: is a volume of a cluster, expected hostPath,"
        " or no source and a path relative to the manifest, for a run on this machine"
    )


def test_a_fleet_without_engines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")

    with pytest.raises(PlaceError) as caught:
        check_runnable(fleet(spec__target__model=str(tmp_path), spec__replicas=0))

    assert "0 replicas" in str(caught.value)


def test_a_new_run_starts_without_the_state_of_the_last(tmp_path: Path) -> None:
    with claimed(tmp_path, directory(tmp_path / "store")):
        (tmp_path / "state" / "main-0").mkdir()
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")

    with claimed(tmp_path, directory(tmp_path / "store")):
        left = sorted(path.name for path in tmp_path.iterdir())

    assert left == ["logs", "mine.txt", "run.lock", "state", "store"]
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize("name", ["logs", "state"])
def test_a_directory_that_no_run_has_written_is_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    for _ in range(2):
        with pytest.raises(PlaceError) as caught, claimed(tmp_path, directory(tmp_path / "store")):
            pass

    assert str(caught.value) == (
        f"--out: {tmp_path / name} exists and is not from a specfleet run, which would delete it;"
        " give another --out, or move it away"
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["logs", "state/store"])
def test_a_store_that_the_next_run_would_delete_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlaceError) as caught, claimed(tmp_path, directory(tmp_path / name)):
        pass

    assert f"spec.store.directory.path: {tmp_path / name} is in" in str(caught.value)


def test_two_runs_cannot_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"

    with (
        claimed(tmp_path / "one", directory(store)),
        pytest.raises(PlaceError) as caught,
        claimed(tmp_path / "two", directory(store)),
    ):
        pass

    assert str(caught.value) == (
        f"spec.store.directory.path: {store} is used by another specfleet run, expected a"
        " directory of its own"
    )


def test_a_store_in_a_bucket_needs_no_directory_of_this_machine(tmp_path: Path) -> None:
    with claimed(tmp_path, BUCKET):
        left = sorted(path.name for path in tmp_path.iterdir())

    assert left == ["logs", "run.lock", "state"]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        pytest.param({}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", id="none"),
        pytest.param(
            {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": ""},
            "AWS_SECRET_ACCESS_KEY",
            id="empty-secret",
        ),
    ],
)
def test_a_bucket_without_credentials_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(PlaceError) as caught:
        check_store(BUCKET, environment)

    assert str(caught.value) == (
        f"spec.store: {message} not set in the environment, expected the credentials of the store, "
        "of http://localhost:9000"
    )


def test_certificates_that_are_not_there_are_refused(tmp_path: Path) -> None:
    location = BUCKET.model_copy(update={"ca_file": tmp_path / "ca.pem"})

    with pytest.raises(PlaceError, match=r"spec\.store: .*ca\.pem is no file, expected"):
        check_store(location, {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"})


def test_certificates_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    location = BUCKET.model_copy(update={"ca_file": tmp_path / "ca.pem"})

    with pytest.raises(PlaceError, match=r"spec\.store: http://localhost:9000: .*CERTIFICATE"):
        check_store(location, {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"})


def test_every_run_has_a_secret_of_its_own_that_only_its_owner_can_read(tmp_path: Path) -> None:
    wanted = fleet()
    place = Place(python="/py", out=tmp_path, shm_directory=tmp_path, run_id="abc")
    todo = plan(wanted, place, range(5000, 5000 + num_ports(wanted)))

    secrets = []
    for _ in range(2):
        write_files(todo)
        secrets.append(todo.token_file.read_text())

    assert secrets[0] != secrets[1]
    assert min(map(len, secrets)) >= 32
    assert todo.token_file.stat().st_mode & 0o777 == 0o600
    assert parse_settings(todo.settings_file.read_bytes()) == todo.settings


def test_ports_differ() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20


def test_settings_of_another_fleet_are_not_inherited() -> None:
    environment = inherited({"PATH": "/bin", "SPECFLEET_AGENT_TRAIN": "true"})

    assert environment == {"PATH": "/bin"}
