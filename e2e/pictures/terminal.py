"""What `specfleet run` shows on a terminal, as SVG."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from e2e.moments import Moment
from specfleet_cli.plan import FleetPlan, Place, num_ports, plan
from specfleet_cli.supervising import Phase, ProcessState
from specfleet_cli.terminal import table
from specfleet_cli.view import View
from specfleet_common.api.fleet import SpeculatorFleet

COLUMNS = 120

_THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
# Without the addresses of fonts that rich puts there: a picture asks nobody for anything.
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-title {{ font: 15px system-ui, "DejaVu Sans", sans-serif; }}
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def terminal_svg(fleet: SpeculatorFleet, moment: Moment, *, command: str) -> str:
    """Return what a user who typed `command` sees of the fleet at a moment."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system=None
    )
    todo = _planned(fleet, moment)
    console.print(Text(f"$ {command}"))
    console.print(table(todo, _view(todo, moment)))
    return console.export_svg(
        theme=_THEME, code_format=_FORMAT, unique_id="terminal", title=command
    )


def _planned(fleet: SpeculatorFleet, moment: Moment) -> FleetPlan:
    """Return the plan that gives its workers the ids that they have in the recording."""
    name, worker_id = next(iter(moment.worker_ids.items()))
    place = Place(
        python="", out=Path(), shm_directory=Path(), run_id=worker_id.removeprefix(f"{name}-")
    )
    return plan(fleet, place, range(1, 1 + num_ports(fleet)))


def _view(todo: FleetPlan, moment: Moment) -> View:
    return View(
        now=0.0,
        processes={
            process.name: ProcessState(process.name, process.kind, Phase.READY, starts=1)
            for process in todo.processes
        },
        fleet=moment.state,
        acceptance={moment.worker_ids[name]: length for name, length in moment.acceptance.items()},
    )
