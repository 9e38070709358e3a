"""Settings come from the environment and wrong ones are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from specfleet_aggregator.tests.builders import settings
from specfleet_common.store.location import DirectoryLocation, S3Location

S3 = {"endpoint": "http://localhost:9000", "bucket": "fleets", "prefix": "default/tiny"}


def test_depth_weights_need_one_that_is_positive(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="all depth weights are zero"):
        settings(tmp_path, depth_weights=(0.0, 0.0))


def test_wrong_settings_end_the_process_with_the_field_named() -> None:
    result = started({"SPECFLEET_AGGREGATOR_QUORUM_PERCENT": "0"})

    assert result.returncode == 2
    assert "quorum_percent" in result.stderr
    assert "fleet" in result.stderr


def test_an_s3_store_without_credentials_ends_the_process_with_a_sentence() -> None:
    result = started(
        {
            "SPECFLEET_AGGREGATOR_FLEET": "fleet",
            "SPECFLEET_AGGREGATOR_STORE_S3": json.dumps(S3),
            "AWS_ACCESS_KEY_ID": "me",
        }
    )

    assert result.returncode == 1
    assert result.stderr == (
        "specfleet_aggregator: s3://fleets/default/tiny at http://localhost:9000: "
        "AWS_SECRET_ACCESS_KEY not set in the environment, expected the credentials of "
        "http://localhost:9000\n"
    )


def test_a_store_is_in_a_directory_or_in_a_bucket(tmp_path: Path) -> None:
    in_bucket = settings(tmp_path, store_directory=None, store_s3=S3)

    assert settings(tmp_path).store == DirectoryLocation(path=tmp_path / "store")
    assert in_bucket.store == S3Location.model_validate(S3)


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        pytest.param({"store_directory": None}, "neither given", id="none"),
        pytest.param({"store_s3": S3}, "both given", id="two"),
    ],
)
def test_exactly_one_store_is_given(tmp_path: Path, changes: dict[str, object], given: str) -> None:
    with pytest.raises(ValidationError, match=given):
        settings(tmp_path, **changes)


def test_an_s3_store_has_no_unknown_field(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"store_s3\.secret_key"):
        settings(tmp_path, store_directory=None, store_s3={**S3, "secret_key": "x"})


def started(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start an aggregator that ends by itself, with only these settings and no credentials."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [sys.executable, "-m", "specfleet_aggregator"],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
