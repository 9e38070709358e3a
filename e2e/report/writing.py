"""Puts a report into its directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_report(out: Path, content: dict[str, Any], page: str) -> tuple[Path, Path]:
    """Write report.json and report.html, and return where they are."""
    data, html = out / "report.json", out / "report.html"
    data.write_text(json.dumps(rounded(content), ensure_ascii=False, indent=2), encoding="utf-8")
    html.write_text(page, encoding="utf-8")
    return data, html


def rounded(value: Any, *, digits: int = 4) -> Any:
    """Return the content with so many digits after the point, inside lists and objects too."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: rounded(one, digits=digits) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one, digits=digits) for one in value]
    return value
