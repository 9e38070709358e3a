"""Draws all dashboards from the recording of one run, for `make pictures`.

`make observe` makes such a recording; the one in the repository is of a fleet with real engines.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from e2e.dashboards.drawing import draw
from e2e.dashboards.recording import from_json
from e2e.engines import ROOT
from tools.dashboards.pages import DASHBOARDS

RECORDING = Path(__file__).with_name("recording.json.gz")
FOLDER = ROOT / "docs" / "pictures"


def pictures(recording: Path = RECORDING) -> dict[str, str]:
    """Return the SVG of every dashboard by the name of its file."""
    shown = from_json(gzip.decompress(recording.read_bytes()).decode())
    return {f"dashboard-{page.name}.svg": draw(page, shown) for page in DASHBOARDS}


def write_pictures(folder: Path = FOLDER, recording: Path = RECORDING) -> list[Path]:
    """Write the pictures of all dashboards; return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {folder / name: text for name, text in pictures(recording).items()}
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return list(made)
