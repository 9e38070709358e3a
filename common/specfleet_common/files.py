"""Files that readers see whole: as they were, or as they are now."""

from __future__ import annotations

from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step: readers see the old bytes or the new ones.

    A file has one writer, so what a killed one left half-written is overwritten by the next.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
