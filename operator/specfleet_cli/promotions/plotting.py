"""Draws the evidence of a promotion into a file."""

from __future__ import annotations

import html
from pathlib import Path

from specfleet_cli.evidence_plot import png, svg
from specfleet_cli.promotions.cases import Case, promotions_of, read_case
from specfleet_cli.promotions.deciding import named
from specfleet_cli.promotions.panels import panels
from specfleet_cli.promotions.places import SourceError
from specfleet_cli.promotions.showing import details
from specfleet_cli.promotions.sources import Stored
from specfleet_common.store.base import Store

_STYLE = "body{font:15px/1.5 system-ui,sans-serif;color:#24292f;margin:2rem auto;max-width:60rem}"
_KINDS = (".svg", ".png", ".html")


def plot_file(stored: Stored, path: Path) -> str:
    """Write the picture in the format that the file's name ends with; return what was written."""
    if path.suffix not in _KINDS:
        raise SourceError(f"--plot: {path} has no known ending, expected {', '.join(_KINDS)}")
    case = read_case(stored.store, stored.promotion)
    shown = panels(case)
    title = f"Promotion {case.promotion.name}"
    try:
        match path.suffix:
            case ".png":
                path.write_bytes(png(shown, title))
            case ".svg":
                path.write_text(svg(shown, title), encoding="utf-8")
            case _:
                path.write_text(page(case, svg(shown)), encoding="utf-8")
    except OSError as error:
        raise SourceError(f"--plot: {path} cannot be written: {error}") from error
    return f"{path}: {', '.join(panel.title for panel in shown) or 'there is no evidence yet'}"


def evidence_svg(store: Store, name: str) -> str:
    """Return the picture of a promotion's evidence, for a page that says more."""
    promotion = named(promotions_of(store), name)
    return svg(panels(read_case(store, promotion)))


def page(case: Case, picture: str) -> str:
    """Return the picture with what was decided, as one page that needs no other file."""
    title = html.escape(f"Promotion {case.promotion.name}")
    lines = html.escape("\n".join(details(case.promotion)))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1>{picture}"
        f"<pre style='white-space:pre-wrap'>{lines}</pre></html>\n"
    )
