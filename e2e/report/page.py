"""A report as one HTML page that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; max-width: 60rem; }
body { margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .8rem; }
dl div { border: 1px solid #d8dee4; border-radius: 6px; padding: .6rem .8rem; }
dt { color: #57606a; font-size: .85rem; } dd { margin: 0; font-size: 1.3rem; }
table { border-collapse: collapse; }
th, td { text-align: right; padding: .2rem .8rem; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; } svg { max-width: 100%; height: auto; }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, what to know about it, then a picture (SVG) or a table or both."""

    title: str
    text: str
    svg: str = ""
    table: Table | None = None


def render(
    title: str, text: str, figures: Sequence[tuple[str, str]], sections: Sequence[Section]
) -> str:
    """Return the page; `figures` are the names and values at its top."""
    tiles = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in figures
    )
    body = "".join(_section(section) for section in sections)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style><h1>{html.escape(title)}</h1><p>{html.escape(text)}</p>"
        f"<dl>{tiles}</dl>{body}</html>\n"
    )


def _section(section: Section) -> str:
    table = "" if section.table is None else _table(section.table)
    return (
        f"<h2>{html.escape(section.title)}</h2><p>{html.escape(section.text)}</p>"
        f"{section.svg}{table}"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
