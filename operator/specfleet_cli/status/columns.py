"""Rows in columns, of which the last takes the rest of the line. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

_GAP = "   "
_NARROWEST = 20
"""A last column with less room is not folded, because nobody could read it."""


def columns(
    names: Sequence[str] | None, rows: Sequence[Sequence[Text]], *, width: int | None
) -> Iterator[Text]:
    """Return a heading, if there are names, and the rows; the last column is folded to `width`."""
    heading = [[Text(name.upper(), style="bold") for name in names]] if names is not None else []
    lines = [*heading, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]) - 1)]
    indent = sum(widths) + len(_GAP) * len(widths)
    for line in lines:
        *cells, last = line
        first, *more = _folded(last, None if width is None else width - indent)
        text = Text()
        for cell, wide in zip(cells, widths, strict=True):
            text.append_text(cell).append(" " * (wide - len(cell)) + _GAP)
        yield _trimmed(text.append_text(first))
        for rest in more:
            yield Text(" " * indent).append_text(rest)


def _folded(text: Text, room: int | None) -> list[Text]:
    if room is None or room < _NARROWEST or len(text) <= room:
        return [text]
    folded = textwrap.wrap(text.plain, room, break_long_words=False, break_on_hyphens=False)
    return [Text(part, style=text.style) for part in folded]


def _trimmed(text: Text) -> Text:
    text.rstrip()
    return text
