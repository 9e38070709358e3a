"""How the commands say that they cannot do what a user asked for: a sentence, and exit code 2."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

errors = Console(stderr=True)


def fail(error: Exception) -> NoReturn:
    """End the command with the error's message."""
    errors.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)
