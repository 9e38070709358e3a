"""Files that readers see whole, as they were or as they are now; and files as memory."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path
from typing import BinaryIO, Final

MAX_SMALL_BYTES: Final = 1 << 20
"""Above every settings file, set of keys or chain of certificates; as large as a ConfigMap."""


def write_file(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step: readers see the old bytes or the new ones.

    A file has one writer, so what a killed one left half-written is overwritten by the next.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def write_secret(path: Path, text: str) -> None:
    """Replace `path` by a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def read_small(path: Path, *, limit_bytes: int = MAX_SMALL_BYTES) -> bytes:
    """Return the bytes of a file; an OSError when it has more than belong into memory."""
    with path.open("rb") as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        reason = f"has more than {limit_bytes} bytes"
        raise OSError(errno.EFBIG, reason, str(path))
    return data


def mapped(file: BinaryIO) -> memoryview:
    """Return a file's bytes mapped into memory, where the kernel may drop and re-read them."""
    if os.fstat(file.fileno()).st_size == 0:
        return memoryview(b"")
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
