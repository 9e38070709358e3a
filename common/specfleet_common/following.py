"""Files that are read again when others stand in their place. Nothing here waits.

A volume of Kubernetes replaces its files by swapping a link: a file is the one it leads to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

Value = TypeVar("Value")


class Watch:
    """Says whether files have been replaced or written since it was last asked."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._seen = self._identities()

    def has_changed(self) -> bool:
        """Return True once for every change."""
        now = self._identities()
        changed, self._seen = now != self._seen, now
        return changed

    def _identities(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_identity(path) for path in self._paths)


class Followed(Generic[Value]):
    """What files say now; while they cannot be read, what they said last.

    `read` is called at once, and whatever it raises goes to the caller.
    """

    def __init__(self, read: Callable[[], Value], *paths: Path) -> None:
        self._read = read
        self._paths = paths
        # Looked at before it is read: a change in between is then seen by the next look.
        self._watch = Watch(*paths)
        self._value = read()
        self._is_unread = False
        self._trouble = ""

    @property
    def value(self) -> Value:
        """Return it, read again after a change, and until the change could be read."""
        if self._watch.has_changed() or self._is_unread:
            self._read_again()
        return self._value

    def _read_again(self) -> None:
        files, before = [str(path) for path in self._paths], self._trouble
        try:
            self._value = self._read()
        except (OSError, ValueError) as error:
            # Content stays wrong until it changes; what kept it from being read may pass.
            self._is_unread, self._trouble = isinstance(error, OSError), str(error)
            if self._trouble != before:
                log.warning(
                    "files_unusable", files=files, reason=self._trouble, used="the last ones"
                )
            return
        self._is_unread, self._trouble = False, ""
        log.info("files_read_again", files=files)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
