"""A console with a part that is drawn anew on a terminal, and only lines anywhere else."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text


class Screen:
    """Shows `live` while the block runs, where there is a terminal; elsewhere it is None."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def _print(self, line: str) -> None:
        # As Text, because a line may contain what rich takes for markup.
        self._console.print(Text(line), soft_wrap=True)
