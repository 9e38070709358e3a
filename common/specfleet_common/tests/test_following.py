"""Files that are replaced while a process reads them."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from specfleet_common.files import read_small, write_file, write_secret
from specfleet_common.following import Followed, Watch


def number_in(path: Path) -> Followed[int]:
    return Followed(lambda: int(path.read_text()), path)


def test_a_change_is_said_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_file(one, b"1")
    watch = Watch(one, two)

    quiet = watch.has_changed()
    write_file(two, b"2")
    created = [watch.has_changed(), watch.has_changed()]
    write_file(one, b"1")
    replaced = [watch.has_changed(), watch.has_changed()]
    two.unlink()
    removed = [watch.has_changed(), watch.has_changed()]

    assert not quiet
    assert [created, replaced, removed] == [[True, False]] * 3


def test_a_link_that_is_swapped_is_a_change(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        write_file(tmp_path / name / "number", name.encode())
    link, new = tmp_path / "data", tmp_path / "data_tmp"
    link.symlink_to("old")
    watch = Watch(link / "number")

    new.symlink_to("new")
    new.replace(link)

    assert watch.has_changed()


def test_the_value_is_that_of_the_newest_file_that_could_be_read(tmp_path: Path) -> None:
    path = tmp_path / "number"
    write_file(path, b"1")
    followed = number_in(path)

    values = [followed.value]
    for data in (b"2", b"no number", b"3"):
        write_file(path, data)
        values += [followed.value, followed.value]
    path.unlink()
    values.append(followed.value)

    assert values == [1, 2, 2, 2, 2, 3, 3, 3]


def test_what_could_not_be_read_is_tried_again_without_another_change(tmp_path: Path) -> None:
    path = tmp_path / "number"
    write_file(path, b"1")
    failures: list[OSError] = []

    def read() -> int:
        if failures:
            raise failures.pop()
        return int(path.read_text())

    followed = Followed(read, path)
    write_file(path, b"2")
    failures += [OSError(errno.EMFILE, "Too many open files")] * 2

    with capture_logs() as logs:
        values = [followed.value for _ in range(4)]

    assert values == [1, 1, 2, 2]
    assert [entry["event"] for entry in logs] == ["files_unusable", "files_read_again"]


def test_a_file_that_does_not_belong_into_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"12345")

    small = read_small(path, limit_bytes=5)

    assert small == b"12345"
    with pytest.raises(OSError, match="has more than 4 bytes"):
        read_small(path, limit_bytes=4)


def test_the_first_reading_has_to_succeed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        number_in(tmp_path / "missing")


def test_a_secret_is_readable_by_its_owner_only_whatever_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    path.chmod(0o644)

    write_secret(path, "new")

    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
