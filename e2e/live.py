"""What a long story shows while it runs: a live picture on a terminal, lines anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from specfleet_cli.screen import Screen

LINE_EVERY_SECONDS = 15.0
REFRESH_PER_SECOND = 2.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the story, and how long it is expected to take."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown of one moment: a headline, and a table with a row for each engine."""

    headline: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def progress(stages: Sequence[Stage], current: int, elapsed: float) -> tuple[float, float]:
    """Return the share of the whole that is done, and the seconds that are expected to be left.

    `elapsed` is the time in the current stage; one that takes longer than expected is nearly over.
    """
    total = sum(stage.seconds for stage in stages)
    done = sum(stage.seconds for stage in stages[:current])
    done += min(elapsed, 0.95 * stages[current].seconds)
    return done / total, total - done


class View(Screen):
    """Shows one story; `clock` gives seconds that never go back."""

    def __init__(
        self, console: Console, stages: Sequence[Stage], *, clock: Callable[[], float]
    ) -> None:
        self._stages = stages
        self._clock = clock
        self._began = self._stage_began = self._line_at = clock()
        self._current = 0
        self._picture = Picture("")
        # Last: what is live is asked for its first picture at once.
        super().__init__(
            console,
            Live(
                console=console,
                get_renderable=self._rendered,
                refresh_per_second=REFRESH_PER_SECOND,
                transient=True,
            ),
        )

    def begin(self, stage: str) -> None:
        """Go on to a stage, by its name."""
        self._current = [one.name for one in self._stages].index(stage)
        self._stage_began = self._clock()
        self.say(stage)
        self.show(Picture(stage))

    def show(self, picture: Picture) -> None:
        """Show the picture of now: always on a terminal, now and then as lines."""
        self._picture = picture
        now = self._clock()
        if self._live is None and now >= self._line_at + LINE_EVERY_SECONDS:
            share, left = self._progress()
            self._line_at = now
            self.say(f"{picture.headline} ({100 * share:.0f} % done, about {_time(left)} left)")
            for row in picture.rows:
                facts = zip(picture.columns[1:], row[1:], strict=True)
                self.say(f"  {row[0]}: " + ", ".join(f"{name} {cell}" for name, cell in facts))

    def say(self, line: str) -> None:
        """Print one line with the time since the start."""
        self._print(f"[{_time(self._clock() - self._began)}] {line}")

    def _progress(self) -> tuple[float, float]:
        return progress(self._stages, self._current, self._clock() - self._stage_began)

    def _rendered(self) -> Group:
        share, left = self._progress()
        line = Table.grid(padding=(0, 1))
        line.add_row(
            ProgressBar(total=1.0, completed=share, width=40),
            Text(f"{self._stages[self._current].name}, about {_time(left)} left in all"),
        )
        return Group(line, _table(self._picture))


def _table(picture: Picture) -> Table | Text:
    if not picture.rows:
        return Text(picture.headline)
    table = Table(title=picture.headline, title_justify="left")
    for column in picture.columns:
        table.add_column(column, no_wrap=True)
    for row in picture.rows:
        table.add_row(*[Text(cell) for cell in row])
    return table


def _time(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
