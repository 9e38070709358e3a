"""What fuzzing has found, and is tried again by the tests: tools/fuzz/found/<border>/<what it is>.

Only input that a unit test beside the code does not show better is kept.
"""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.border import Border

FOUND = Path(__file__).parent / "found"


def folder(border: Border) -> str:
    """Return the directory of a border's input."""
    return border.name.lower().replace(" ", "-")
