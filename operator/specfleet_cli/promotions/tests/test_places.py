"""Where promotions are looked for, and what is said when they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_cli.promotions.places import (
    SourceError,
    check_endpoint,
    location_of,
    opened,
    running,
)
from specfleet_cli.promotions.tests.lineages import FakeLineage
from specfleet_cli.promotions.tests.runs import run_in
from specfleet_common.api.testing import manifest
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.location import DirectoryLocation, S3Location

NO_PROCESS = 2**22 + 1


def test_the_only_run_is_found(tmp_path: Path) -> None:
    directory = run_in(tmp_path / "tiny")

    assert running(None, out=tmp_path).directory == directory


def test_of_several_runs_one_has_to_be_named(tmp_path: Path) -> None:
    run_in(tmp_path / "tiny")
    other = run_in(tmp_path / "other")

    with pytest.raises(SourceError, match=r"name one of .*/other, .*/tiny with --directory"):
        running(None, out=tmp_path)
    assert running(other, out=tmp_path).directory == other


def test_without_a_run_it_is_said_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no fleet runs below .*--directory, or .*--store"):
        running(None, out=tmp_path)
    with pytest.raises(SourceError, match="no fleet runs there"):
        running(tmp_path / "tiny")


def test_a_run_that_was_killed_is_none(tmp_path: Path) -> None:
    directory = run_in(tmp_path / "tiny", pid=NO_PROCESS)

    with pytest.raises(SourceError, match=f"was killed \\(process {NO_PROCESS}\\)"):
        running(directory)


def test_a_store_is_a_directory_or_what_a_manifest_names(tmp_path: Path) -> None:
    in_directory, in_bucket = tmp_path / "a.yaml", tmp_path / "b.yaml"
    in_directory.write_text(manifest())
    s3 = {"endpoint": "http://s3:9000", "bucket": "fleets", "prefix": "p"}
    in_bucket.write_text(manifest(spec__store={"s3": s3}))

    assert location_of(tmp_path) == DirectoryLocation(path=tmp_path)
    assert location_of(in_directory) == DirectoryLocation(path=tmp_path / "store")
    assert location_of(in_bucket) == S3Location(
        endpoint="http://s3:9000", bucket="fleets", prefix="p/default/tiny"
    )


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: b")

    with pytest.raises(SourceError, match=r"--store: .*nothing does not exist"):
        location_of(tmp_path / "nothing")
    with pytest.raises(SourceError, match=r"--store: .*x.yaml: "):
        location_of(tmp_path / "x.yaml")


def test_a_store_knows_its_fleet(tmp_path: Path) -> None:
    FakeLineage(DirectoryStore(tmp_path), fleet="tiny")

    assert opened(DirectoryLocation(path=tmp_path), {}).fleet == "tiny"


def test_a_store_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    bucket = S3Location(endpoint="http://s3:9000", bucket="fleets", prefix="p")

    with pytest.raises(SourceError, match="belongs to no fleet"):
        opened(DirectoryLocation(path=tmp_path), {})
    with pytest.raises(SourceError, match="AWS_ACCESS_KEY_ID"):
        opened(bucket, {})


def test_an_endpoint_has_scheme_and_host() -> None:
    check_endpoint("http://127.0.0.1:9000")

    with pytest.raises(SourceError, match="--s3-endpoint: is 'localhost:9000'"):
        check_endpoint("localhost:9000")
