"""All dashboards, and the files that they are kept in."""

from __future__ import annotations

from pathlib import Path

from tools.dashboards.control import CONTROL
from tools.dashboards.engine import ENGINE
from tools.dashboards.grafana import to_json
from tools.dashboards.learning import LEARNING
from tools.dashboards.model import Dashboard
from tools.dashboards.overview import OVERVIEW
from tools.dashboards.promotion import PROMOTION

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "charts" / "specfleet" / "dashboards"

DASHBOARDS: tuple[Dashboard, ...] = (OVERVIEW, LEARNING, PROMOTION, ENGINE, CONTROL)


def files() -> dict[Path, str]:
    """Return what each generated file has to contain."""
    return {FOLDER / f"{page.name}.json": to_json(page) for page in DASHBOARDS}
