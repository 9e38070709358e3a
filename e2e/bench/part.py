"""One part of the measurements, in a process of its own: `python -m e2e.bench.part NAME FOLDER`.

So its memory and its threads are its own, and what it imports is configured before.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

FIGURES = "figures.json"


def main() -> int:
    """Measure, and write the figures into the folder."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    figures = importlib.import_module(f"e2e.bench.{name}").measure(folder)
    (folder / FIGURES).write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
