"""Shows views of a running fleet: a live table on a terminal, lines anywhere else."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from specfleet_cli.plan import FleetPlan
from specfleet_cli.screen import Screen
from specfleet_cli.view import COLUMNS, View, changes, headline, judgement, row, status

STATUS_EVERY_SECONDS = 10.0


class Terminal(Screen):
    """Prints what changes; keeps a table current, or repeats the state in lines now and then."""

    def __init__(self, console: Console, plan: FleetPlan, *, clock: Callable[[], float]) -> None:
        super().__init__(console, Live(console=console, auto_refresh=False, transient=True))
        self._plan = plan
        self._clock = clock
        self._began = clock()
        self._shown = View(now=self._began)
        self._status_at = self._began + STATUS_EVERY_SECONDS

    def show(self, view: View) -> None:
        """Show a newer view."""
        for line in changes(self._plan, self._shown, view):
            self.say(line)
        self._shown = view
        if self._live is not None:
            self._live.update(table(self._plan, view), refresh=True)
            return
        if view.now >= self._status_at:
            self._status_at = view.now + STATUS_EVERY_SECONDS
            self._say_status(view)

    def say(self, line: str) -> None:
        """Print one line with the seconds since the start."""
        self._print(f"[{self._clock() - self._began:7.1f}s] {line}")

    def _say_status(self, view: View) -> None:
        self.say(headline(self._plan, view))
        if line := judgement(self._plan, view):
            self.say(f"  {line}")
        for worker in self._plan.workers:
            self.say(f"  {status(worker, view)}")


def table(plan: FleetPlan, view: View) -> Table:
    """Return what a terminal shows of a fleet."""
    shown = Table(
        title=headline(plan, view),
        title_justify="left",
        caption=Text(judgement(plan, view)),
        caption_justify="left",
    )
    for name in COLUMNS:
        shown.add_column(name, overflow="ellipsis", no_wrap=name != "engine")
    for worker in plan.workers:
        shown.add_row(*[Text(cell) for cell in row(worker, view)])
    return shown
