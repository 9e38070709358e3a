"""The reference of the programs' settings, from the classes that read them. Pure."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from tools.documentation.tables import code, table, type_in_words

_HEAD = """# Settings of the programs

Made by `make generate` from the classes that read them. Each program reads its settings once, \
when it starts, from environment variables. In a cluster the operator sets those of a fleet's \
pods and the [chart](values.md) those of the operator, and `specfleet run` sets them on one \
machine: to know them helps to read a pod, and to run a program by hand. What a fleet should be \
is in [its fields](reference.md), not here.

A variable in bold has to be set. Lists are JSON unless their meaning says otherwise.
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and the class of its settings."""

    title: str
    text: str
    prefix: str
    settings: type[Any]


def settings_page(programs: Sequence[Program]) -> str:
    """Return the page, Markdown."""
    return "\n".join([_HEAD, *(line for program in programs for line in _program(program))])


def meanings(settings: type[Any]) -> dict[str, str]:
    """Return what is written below each field of a class."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(settings))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[field.target.id] = inspect.cleandoc(str(text.value.value))
    return found


def _program(program: Program) -> Iterator[str]:
    yield f"## {program.title}\n"
    yield f"{program.text}\n"
    yield from table(("variable", "type", "default", "meaning"), _rows(program))


def _rows(program: Program) -> Iterator[Sequence[str]]:
    schema = TypeAdapter(program.settings).json_schema()
    told = meanings(program.settings)
    for name, field in schema["properties"].items():
        variable = code(program.prefix + name.upper())
        given = f"**{variable}**" if name in schema.get("required", ()) else variable
        kind = type_in_words(field, schema.get("$defs", {}))
        yield given, kind, _default(field), told.get(name, "")


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None or value == "" else code(value)
