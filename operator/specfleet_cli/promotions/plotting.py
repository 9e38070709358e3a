"""Draws the evidence of a promotion into a file."""

from __future__ import annotations

import html
from pathlib import Path

from specfleet_cli.drawing import Plot, plot, standalone, svg
from specfleet_cli.evidence_plot import AnyPanel, drawing, png
from specfleet_cli.page import document, figure
from specfleet_cli.promotions.cases import Case, promotions_of, read_case
from specfleet_cli.promotions.deciding import named
from specfleet_cli.promotions.panels import panels
from specfleet_cli.promotions.places import SourceError
from specfleet_cli.promotions.showing import details
from specfleet_cli.promotions.sources import Stored
from specfleet_common.store.base import Store

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
                path.write_text(standalone(svg(drawing(shown, title))), encoding="utf-8")
            case _:
                path.write_text(page(case, plot(drawing(shown))), encoding="utf-8")
    except OSError as error:
        raise SourceError(f"--plot: {path} cannot be written: {error}") from error
    return f"{path}: {', '.join(panel.title for panel in shown) or 'there is no evidence yet'}"


def evidence(store: Store, name: str) -> tuple[AnyPanel, ...]:
    """Return what there is to draw of a promotion's evidence, for a page that says more."""
    return panels(read_case(store, named(promotions_of(store), name)))


def page(case: Case, picture: Plot) -> str:
    """Return the picture with what was decided, as one page that needs no other file."""
    title = f"Promotion {case.promotion.name}"
    lines = html.escape("\n".join(details(case.promotion)))
    return document(
        title,
        f"<section>{figure(picture, 'How its effect came about')}</section>\n"
        f'<section><pre class="words">{lines}</pre></section>',
    )
