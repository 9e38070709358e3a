"""The site's menu: what mkdocs.yml lists, and all pages of the folders in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def filled(menu: Sequence[Any], pages: Sequence[str]) -> list[Any]:
    """Return the menu with `folder/` replaced by the pages of that folder, in their order.

    A folder without a page is left out, and so is a heading with nothing below it.
    """
    entries: list[Any] = []
    for entry in menu:
        if isinstance(entry, str) and entry.endswith("/"):
            entries += sorted(
                (page for page in pages if page.startswith(entry)),
                key=lambda page: (not page.endswith("/index.md"), page),
            )
        elif isinstance(entry, dict):
            ((title, below),) = entry.items()
            if isinstance(below, str) and below.endswith("/"):
                below = [below]
            if isinstance(below, list):
                below = filled(below, pages)
            if below:
                entries.append({title: below})
        else:
            entries.append(entry)
    return entries
