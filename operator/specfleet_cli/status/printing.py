"""Prints reports: once, or again whenever they have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from specfleet_cli.options import Output
from specfleet_cli.promotions.showing import as_text
from specfleet_cli.status.report import Report
from specfleet_cli.status.showing import details, document, table


class Printer:
    """Prints reports as the options say; one that was asked for by name is no list of one."""

    def __init__(self, console: Console, output: Output, *, is_one: bool) -> None:
        self._console = console
        self._output = output
        self._is_one = is_one

    def print(self, reports: Sequence[Report]) -> None:
        """Print them once."""
        for line in self._lines(reports):
            self._console.print(line, soft_wrap=True)

    def follow(self, look: Callable[[], Sequence[Report]], *, pause: Callable[[], None]) -> None:
        """Print them whenever they have changed; in place where a terminal shows a table."""
        if self._console.is_terminal and self._output is Output.TABLE:
            with Live(console=self._console, auto_refresh=False, screen=True) as live:
                while True:
                    live.update(Group(*self._lines(look())), refresh=True)
                    pause()
        before: list[str] = []
        while True:
            reports = look()
            lines = [line.plain for line in self._lines(reports)]
            if lines != before:
                self.print(reports)
                before = lines
            pause()

    def _lines(self, reports: Sequence[Report]) -> list[Text]:
        if self._output is not Output.TABLE:
            documents: list[Any] = [document(one) for one in reports]
            what = documents[0] if self._is_one else documents
            return [Text(as_text(what, self._output.value))]
        width = self._console.width if self._console.is_terminal else None
        if len(reports) == 1:
            return list(details(reports[0], width=width))
        return list(table(reports, width=width))
