"""A store in a directory of this machine.

An entry appears by a hard link from a finished, synced file, so it is never seen half-written, and
of two writers exactly one wins, even over NFS. Names that begin with a dot are not entries: a
writer that died leaves one behind, which the next owner of the store removes.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from specfleet_common.files import mapped
from specfleet_common.store.base import StoreError, names_of

_PARTIAL = re.compile(r"\..+\.[0-9a-f]{16}")
_ABANDONED_AFTER_SECONDS = 3600.0


class DirectoryStore:
    """Entries are files below `root`, which is made when the first one is written."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> memoryview | None:
        """Return the file mapped into memory: only what is looked at is read from disk."""
        try:
            with self._path(path).open("rb") as file:
                return mapped(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error}") from error

    def create(self, path: str, parts: Iterable[bytes | memoryview]) -> bool:
        """Write a file durably unless it exists."""
        target = self._path(path)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            if target.exists():
                return False
            _make_directory(target.parent)
            try:
                _write(partial, parts)
                os.link(partial, target)
            except FileExistsError:
                return False
            finally:
                partial.unlink(missing_ok=True)
            _sync_directory(target.parent)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error}") from error
        return True

    def list(self, path: str) -> list[str]:
        """Return the names of files and directories that are not hidden."""
        try:
            names = os.listdir(self._path(path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreError(f"cannot list {path}: {error}") from error
        return sorted(name for name in names if not name.startswith("."))

    def _path(self, path: str) -> Path:
        return self._root.joinpath(*names_of(path))


def remove_leftovers(root: Path, *, now: float) -> int:
    """Remove what writers that died have left, and return how many files that were.

    `now` is wall time, as files have it.
    """
    try:
        abandoned = leftovers(dict(_partials(root)), now=now)
        for path in abandoned:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot remove leftovers: {error}") from error
    return len(abandoned)


def leftovers(changed_at: Mapping[Path, float], *, now: float) -> list[Path]:
    """Return the files that were half-written an hour ago or longer: their writers are dead."""
    return [path for path, at in changed_at.items() if now - at > _ABANDONED_AFTER_SECONDS]


def _partials(root: Path) -> Iterator[tuple[Path, float]]:
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names if _PARTIAL.fullmatch(name)):
            # A living writer may remove its file at any moment.
            with suppress(FileNotFoundError):
                yield path, path.stat().st_mtime


def _write(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    with path.open("xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _make_directory(path: Path) -> None:
    missing = [parent for parent in (path, *path.parents) if not parent.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in missing:
        _sync_directory(directory.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
