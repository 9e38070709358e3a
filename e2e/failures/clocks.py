"""Sets the wall clocks of a fleet's processes wrong, all at once; the machine's stays right."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOURCE = Path(__file__).with_name("shifted.c")


class Clocks:
    """The clocks of all processes that were started with `environment`."""

    def __init__(self, directory: Path) -> None:
        """Build what has to be preloaded, with the machine's C compiler."""
        library, self._file = directory / "shifted.so", directory / "shift"
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self._file.write_bytes(struct.pack("<q", 0))
        self.environment = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self._file)}

    @contextmanager
    def shifted(self, seconds: int) -> Iterator[None]:
        """Have them jump by so much, and back at the end of a `with` block."""
        self._set(seconds)
        try:
            yield
        finally:
            self._set(0)

    def _set(self, seconds: int) -> None:
        # In place, as the processes have the file mapped.
        with self._file.open("r+b") as file:
            file.write(struct.pack("<q", seconds))
