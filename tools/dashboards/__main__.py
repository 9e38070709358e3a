"""Writes the dashboards of the chart: `python -m tools.dashboards`."""

from __future__ import annotations

import sys

from tools.dashboards.pages import FOLDER, files


def main() -> int:
    """Write every dashboard, and remove the file of one that is no more."""
    wanted = files()
    FOLDER.mkdir(exist_ok=True)
    for path in set(FOLDER.glob("*.json")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
