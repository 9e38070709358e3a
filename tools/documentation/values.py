"""The reference of the chart's values, from values.yaml with its comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from tools.documentation.tables import code, table

_HEAD = """# Values of the chart

Made by `make generate` from `charts/specfleet/values.yaml`. [Install](install.md) says which of \
them matter. A name that is not here is refused.

"""

_KEY = re.compile(r"^( *)([A-Za-z]\w*):(?: |$)")
_COMMENT = re.compile(r"^( *)# ?(.*)$")


def values_page(text: str) -> str:
    """Return the page, Markdown."""
    return _HEAD + "\n".join(table(("value", "default", "meaning"), _rows(text)))


def meanings(text: str) -> dict[tuple[str, ...], str]:
    """Return the comment above each value that has one, by the value's path."""
    found: dict[tuple[str, ...], str] = {}
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if written := _COMMENT.match(line):
            comment.append(written[2])
            continue
        if key := _KEY.match(line):
            path[len(key[1]) // 2 :] = [key[2]]
            if comment:
                found[tuple(path)] = " ".join(comment)
        comment = []
    return found


def _rows(text: str) -> Iterator[Sequence[str]]:
    values, told = yaml.safe_load(text), meanings(text)
    groups = {path[:length] for path in told for length in range(1, len(path))}
    for path, value in _leaves(values, groups, ()):
        yield code(".".join(path)), code(value), _told(path, told)


def _leaves(
    values: dict[str, Any], groups: set[tuple[str, ...]], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values that are given as a whole: nothing below them has a comment of its own."""
    for name, value in values.items():
        path = (*above, name)
        if path in groups:
            yield from _leaves(value, groups, path)
        else:
            yield path, value


def _told(path: tuple[str, ...], told: dict[tuple[str, ...], str]) -> str:
    """Return what a value means, after what the group means that it is alone to explain."""
    own = told.get(path, "")
    group = told.get(path[:-1], "")
    return f"{group} {own}".strip() if group and len(path) > 1 else own
