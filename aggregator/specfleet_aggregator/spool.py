"""Where uploads lie until they are used: files without a name, which die with the process.

Disk and not memory, because a round holds one delta per worker: memory would grow with the fleet.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from specfleet_common.files import mapped


class Spooled:
    """One upload; close it to free its space."""

    def __init__(self, directory: Path) -> None:
        self.file = cast(BinaryIO, tempfile.TemporaryFile(dir=directory))  # noqa: SIM115

    def data(self) -> memoryview:
        """Return the bytes mapped into memory; the kernel may drop and re-read them."""
        self.file.flush()
        return mapped(self.file)

    def close(self) -> None:
        """Free the space, once no view of the data is left."""
        self.file.close()
