"""Reads the ends of log files that other processes are writing."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL_BYTES = 16_384
START_MARK = "--- start"
_PREAMBLE = re.compile(r"^(\(\w+ pid=\d+\) )?([A-Z]+ \d\d-\d\d [\d:]+ \[[^\]]*\] )?")


def tail(path: Path, num_lines: int) -> tuple[str, ...]:
    """Return the last lines that are not blank, () while there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ()
    lines = [line.rstrip() for line in text.splitlines()]
    return tuple([line for line in lines if line][-num_lines:])


def last_message(path: Path) -> str:
    """Return the newest message without vLLM's process, time and place before it."""
    lines = [line for line in tail(path, 2) if not line.startswith(START_MARK)]
    return _PREAMBLE.sub("", lines[-1]) if lines else ""
