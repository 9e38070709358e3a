"""What commands_page makes of a command."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
import typer.main

from tools.documentation.commands import commands_page


class Shape(StrEnum):
    ROUND = "round"
    FLAT = "flat"


app = typer.Typer(add_completion=False)


@app.command()
def bake(
    cake: Annotated[str, typer.Argument(help="What to bake.")],
    shape: Annotated[Shape, typer.Option("--shape", "-s", help="How.")] = Shape.ROUND,
    salt: Annotated[bool, typer.Option(help="With salt.")] = False,
) -> None:
    """Bake a cake.

    Slowly.
    """


@app.command(hidden=True)
def burn() -> None:
    """Burn it."""


PAGE = commands_page(typer.main.get_command(app))


def test_a_command_has_its_text_and_its_usage() -> None:
    assert "## specfleet bake\n\nBake a cake.\n\nSlowly.\n\n```text\nspecfleet bake" in PAGE


def test_arguments_and_options_are_rows() -> None:
    assert "| `cake` | What to bake. |" in PAGE
    assert "| `--shape <round\\|flat>`, `-s <round\\|flat>` | `round` | How. |" in PAGE
    assert "| `--salt`, `--no-salt` |  | With salt. |" in PAGE


def test_hidden_commands_are_not_shown() -> None:
    assert "burn" not in PAGE
