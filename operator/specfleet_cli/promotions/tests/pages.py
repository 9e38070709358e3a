"""The page about promotions, and the commands in it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "promotion.md").read_text("utf-8")


def commands(beginning: str) -> list[list[str]]:
    """Return the arguments of the page's commands that begin like this, in its order."""
    lines = "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, flags=re.M | re.S)).splitlines()
    assert all(line.startswith("$ ") for line in lines)
    found = [line for line in lines if line.startswith(f"$ {beginning} ")]
    return [shlex.split(line.removeprefix(f"$ {beginning} ")) for line in found]
