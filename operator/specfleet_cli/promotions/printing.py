"""Prints promotions as a table, as details, or as a document for other programs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.showing import as_text, details, document, row, table

NOTHING = "No version has been a candidate yet."


def show(promotions: Sequence[Listed], output: str, console: Console) -> None:
    """Print all promotions."""
    if output != "table":
        _print(as_text([document(one) for one in promotions], output), console)
    elif not promotions:
        console.print(NOTHING)
    else:
        for line in table([row(one) for one in promotions]):
            if console.is_terminal:
                console.print(Text(line), no_wrap=True, overflow="ellipsis")
            else:
                console.print(Text(line), soft_wrap=True)


def show_one(promotion: Listed, output: str, console: Console) -> None:
    """Print all that is known of one promotion."""
    if output != "table":
        _print(as_text(document(promotion), output), console)
    else:
        _print("\n".join(details(promotion)), console)


def _print(text: str, console: Console) -> None:
    # As Text, because a sentence may contain what rich takes for markup.
    console.print(Text(text), soft_wrap=True)
