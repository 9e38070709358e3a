"""The reference of the command `specfleet`, from the command itself. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer

from tools.documentation.tables import code, table

_HEAD = """# Commands

Made by `make generate` from the command itself; `specfleet COMMAND --help` shows the same.

`kubectl specfleet` is the same command as a plugin of kubectl: it looks into the cluster of your \
kubeconfig where `specfleet` looks at the fleet that runs below `out/` on this machine. kubectl \
finds it once `kubectl-specfleet`, which is installed beside `specfleet`, is in your `PATH`. \
[Promotion](promotion.md) shows the commands at work.

An option in bold has to be given.
"""


def commands_page(command: Any) -> str:
    """Return the page, Markdown, of the command that Typer has made."""
    return "\n".join([_HEAD, *_command(command, ("specfleet",))])


def _command(command: Any, names: Sequence[str]) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is None:
        yield from _one(command, names)
        return
    if options := _parameters(command, "option"):
        yield f"## {' '.join(names)}\n"
        yield from _options(options, typer.Context(command))
    for name, one in sorted(below.items()):
        if not one.hidden:
            yield from _command(one, (*names, name))


def _one(command: Any, names: Sequence[str]) -> Iterator[str]:
    context = typer.Context(command, info_name=" ".join(names))
    yield f"## {' '.join(names)}\n"
    yield f"{_paragraphs(command.help or '')}\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ').strip()}\n```\n"
    if arguments := _parameters(command, "argument"):
        rows = ((code(_argument(one)), one.help or "") for one in arguments)
        yield from table(("argument", "meaning"), rows)
    if options := _parameters(command, "option"):
        yield from _options(options, context)


def _parameters(command: Any, kind: str) -> list[Any]:
    return [one for one in command.params if one.param_type_name == kind and not one.hidden]


def _options(options: Iterable[Any], context: typer.Context) -> Iterator[str]:
    rows = ((_names(one, context), _default(one), one.help or "") for one in options)
    yield from table(("option", "default", "meaning"), rows)


def _argument(argument: Any) -> str:
    name = argument.name + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _names(option: Any, context: typer.Context) -> str:
    taken = "" if option.is_flag else f" {option.display_type_rich(context)}"
    written = ", ".join(
        [code(f"{name}{taken}") for name in option.opts]
        + [code(name) for name in option.secondary_opts]
    )
    return f"**{written}**" if option.required else written


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or callable(value):
        return ""
    return code(str(getattr(value, "value", value)))


def _paragraphs(text: str) -> str:
    parts = text.replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)
