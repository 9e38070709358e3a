"""A report as one HTML page that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from specfleet_cli.drawing import Plot
from specfleet_cli.page import document, figure

LONGEST_FIGURE = 24
"""Longer cells are text, which begins at the left."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, what to know about it, then a plot or a table or both."""

    title: str
    text: str
    plot: Plot | None = None
    table: Table | None = None


def render(
    title: str, text: str, figures: Sequence[tuple[str, str]], sections: Sequence[Section]
) -> str:
    """Return the page; `figures` are the names and values at its top."""
    tiles = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{_whole(value)}</dd></div>"
        for name, value in figures
    )
    contents = "".join(
        f'<li><a href="#section-{number}">{html.escape(section.title)}</a></li>'
        for number, section in enumerate(sections, start=1)
    )
    body = "\n".join(_section(number, section) for number, section in enumerate(sections, start=1))
    return document(
        title,
        f"<p>{html.escape(text)}</p>\n<dl>{tiles}</dl>\n<nav><ul>{contents}</ul></nav>\n{body}",
    )


def _whole(value: str) -> str:
    """Return a figure that is not parted from its unit by the end of a line."""
    return html.escape(value).replace(" %", "&nbsp;%")


def _section(number: int, section: Section) -> str:
    text = f"<p>{html.escape(section.text)}</p>" if section.text else ""
    drawn = "" if section.plot is None else figure(section.plot, section.title)
    table = "" if section.table is None else _table(section.table)
    return (
        f'<section id="section-{number}"><h2>{html.escape(section.title)}</h2>{text}'
        f"{drawn}{table}</section>"
    )


def _table(table: Table) -> str:
    kinds = [
        ' class="text"' if any(len(cell) > LONGEST_FIGURE for cell in cells) else ""
        for cells in zip(*table.rows, strict=True)
    ]
    head = "".join(
        f"<th{kind}>{html.escape(name)}</th>"
        for kind, name in zip(kinds, table.columns, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{_whole(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        '<div class="scrolls" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
