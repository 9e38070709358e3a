"""Whose requests a store's are."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_common.store.base import StoreError
from specfleet_common.store.credentials import (
    ACCESS_KEY,
    SECRET_KEY,
    Credentials,
    mounted_credentials,
)
from specfleet_common.store.opening import CannotOpen, open_store
from specfleet_common.store.testing import ENVIRONMENT, Server


def write(directory: Path, **values: str) -> None:
    for name, value in values.items():
        (directory / name).write_text(value)


def test_no_part_of_credentials_shows() -> None:
    assert repr(Credentials("key", "secret", "token")) == "Credentials()"


def test_files_may_end_with_a_line_break(tmp_path: Path) -> None:
    write(tmp_path, AWS_ACCESS_KEY_ID="key\n", AWS_SECRET_ACCESS_KEY="secret\n")

    assert mounted_credentials(tmp_path) == Credentials("key", "secret")


def test_a_secret_that_lacks_a_key_is_named(tmp_path: Path) -> None:
    write(tmp_path, AWS_ACCESS_KEY_ID="key")

    with pytest.raises(StoreError) as refused:
        mounted_credentials(tmp_path)

    assert str(refused.value) == (
        f"AWS_SECRET_ACCESS_KEY not set in {tmp_path}, expected the credentials of the store"
    )


def test_a_store_without_variables_is_not_opened(s3: Server) -> None:
    with pytest.raises(CannotOpen, match=r"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY not set"):
        open_store(s3.location("variables"), {})


def test_wrong_credentials_are_put_right_without_opening_the_store_again(
    s3: Server, tmp_path: Path
) -> None:
    write(tmp_path, AWS_ACCESS_KEY_ID=ENVIRONMENT[ACCESS_KEY], AWS_SECRET_ACCESS_KEY="wrong")
    store = open_store(s3.location("mounted", credentials_directory=tmp_path), {})
    with pytest.raises(StoreError, match="cannot read entry"):
        store.read("entry")

    write(tmp_path, AWS_SECRET_ACCESS_KEY=ENVIRONMENT[SECRET_KEY])

    assert store.create("entry", [b"what it says"])
    assert bytes(store.read("entry") or b"") == b"what it says"
