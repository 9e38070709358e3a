"""Tables of the generated pages, Markdown. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table and an empty one."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(text) for text in row)} |"
    yield ""


def code(value: object) -> str:
    """Return a value as one writes it, in a monospaced font."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if text else '`""`'


def type_in_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Say what a JSON schema allows."""
    if "$ref" in schema:
        return type_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(type_in_words(one, definitions) for one in kinds)
    if "enum" in schema:
        return " or ".join(code(value) for value in schema["enum"])
    if "format" in schema:
        return str(schema["format"])
    kind = schema.get("type", "any")
    if kind == "array":
        of = type_in_words(schema.get("items", {}), definitions)
        return f"list of {of}"
    return f"{kind}{_bounds(schema)}"


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    if least is not None and most is not None:
        return f", {least:g} to {most:g}"
    if least is not None:
        return f", at least {least:g}"
    return f", more than {above:g}" if above is not None else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
