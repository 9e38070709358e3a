"""Statistics pages: the engine's newest facts as one JSON object, always whole, never waited for.

What the keys mean is between the plugin that writes them and the agent that reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specfleet_common.shm.files import SharedFile, create_file, open_file
from specfleet_common.shm.layout import PAGE
from specfleet_common.shm.slots import SlotReader, SlotWriter, data_bytes


class PageWriter:
    """The engine's side."""

    def __init__(self, file: SharedFile) -> None:
        self.incarnation = file.header.incarnation
        self._slots = SlotWriter(file)

    @classmethod
    def create(cls, path: Path, size: int = 65536) -> PageWriter:
        """Put a new, empty page at `path` for objects of up to `size` bytes of JSON."""
        return cls(create_file(path, PAGE, None, data_bytes=data_bytes(size)))

    def write(self, mapping: Mapping[str, Any]) -> None:
        """Replace the page's content in one step; ValueError for NaN or too much."""
        text = json.dumps(dict(mapping), allow_nan=False, separators=(",", ":"))
        self._slots.publish(b"", [text.encode()])


class PageReader:
    """The agent's side; it has the file open for reading only."""

    def __init__(self, file: SharedFile) -> None:
        self.incarnation = file.header.incarnation
        self._file = file
        self._slots = SlotReader(file)

    @classmethod
    def attach(cls, path: Path) -> PageReader:
        """Open the page at `path`."""
        return cls(open_file(path, PAGE, None, writable=False))

    @property
    def torn(self) -> int:
        """How many reads found no whole content."""
        return self._slots.torn

    def is_replaced(self) -> bool:
        """Say whether a new page stands at the path."""
        return self._file.is_replaced()

    def read(self) -> dict[str, Any] | None:
        """Return the newest content; None before the first and when it could not be had whole."""
        slot = self._slots.read()
        if slot is None:
            return None
        try:
            content: Any = json.loads(slot.data)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            self._slots.torn += 1
            return None
        return content
