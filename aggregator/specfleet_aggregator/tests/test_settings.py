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


def test_wrong_settings_end_the_process_with_the_field_named() -> None:
    result = started({"SPECFLEET_AGGREGATOR_METRICS_PORT": "-1"})

    assert result.returncode == 2
    assert 'SPECFLEET_AGGREGATOR_METRICS_PORT: is "-1", expected' in result.stderr
    assert "SPECFLEET_AGGREGATOR_FLEET: is missing" in result.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param("{}", "fleetUid: is missing", id="broken"),
    ],
)
def test_a_settings_file_that_cannot_be_used_at_the_start_is_named(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_text(text)

    result = started(
        {
            "SPECFLEET_AGGREGATOR_FLEET": "fleet",
            "SPECFLEET_AGGREGATOR_SETTINGS_FILE": str(file),
            "SPECFLEET_AGGREGATOR_STORE_DIRECTORY": str(tmp_path / "store"),
        }
    )

    assert result.returncode == 2
    assert f"specfleet_aggregator: {file}: " in result.stderr
    assert reason in result.stderr
    assert "Traceback" not in result.stderr


def test_an_s3_store_without_credentials_ends_the_process_with_a_sentence() -> None:
    result = started(
        {
            "SPECFLEET_AGGREGATOR_FLEET": "fleet",
            "SPECFLEET_AGGREGATOR_SETTINGS_FILE": "settings.json",
            "SPECFLEET_AGGREGATOR_STORE_S3": json.dumps(S3),
            "AWS_ACCESS_KEY_ID": "me",
        }
    )

    assert result.returncode == 1
    assert result.stderr == (
        "specfleet_aggregator: s3://fleets/default/tiny at http://localhost:9000: "
        "AWS_SECRET_ACCESS_KEY not set in the environment, expected the credentials of the store, "
        "of http://localhost:9000\n"
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


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"tls_key_file": "key"}, "one given, expected", id="key-alone"),
        pytest.param(
            {"jwks_file": "jwks", "token_issuer": "i"},
            "token_audience, worker_subject: missing",
            id="half-of-the-tokens",
        ),
        pytest.param({"watcher_subjects": ("a",)}, "jwks_file, token_issuer", id="watchers-alone"),
        pytest.param({"jwks_file": "jwks", "token_file": "token"}, "one way only", id="two-ways"),
        pytest.param(
            {"token_file": "token", "listen": "0.0.0.0:50051"},
            "tokens would come unencrypted",
            id="tokens-in-the-clear",
        ),
    ],
)
def test_settings_of_security_are_complete_or_absent(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason):
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
