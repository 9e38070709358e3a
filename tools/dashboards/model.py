"""What a dashboard is for us: rows of panels, each of which asks Prometheus something.

`grafana` makes it what Grafana reads; tests and pictures ask the same queries without Grafana.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a panel shows what its queries return."""

    NUMBER = "number"
    """The newest values, large."""
    CURVES = "curves"
    STATES = "states"
    """One bar over time for each series, coloured by its value."""


@dataclass(frozen=True, slots=True)
class Query:
    """One expression; `legend` names its series by their labels."""

    expression: str
    legend: str
    absent: str = ""
    """Says when it has no series in a fleet that is well; otherwise it always has one."""


@dataclass(frozen=True, slots=True)
class Step:
    """From this value on, a number has this colour."""

    value: float | None
    """None: from the very lowest."""
    color: str


@dataclass(frozen=True, slots=True)
class State:
    """What a value of a bar over time means."""

    value: int
    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture; `description` says how to read it, `unit` is one of Grafana's."""

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    kind: Kind = Kind.CURVES
    width: int = 8
    """In the 24 columns of the grid."""
    decimals: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    steps: tuple[Step, ...] = ()
    states: tuple[State, ...] = ()
    no_value: str = ""
    """Shown while there is nothing to show."""
    last: str = ""
    """Shows so much of the past, such as 7d, whatever the dashboard shows."""

    @property
    def height(self) -> int:
        """Return the height on Grafana's grid."""
        return 4 if self.kind is Kind.NUMBER else 8


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that answer one question."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """What a viewer chooses from: the values of `label` among the series of `among`."""

    label: str
    among: str
    several: bool = False
    """Whether many can be chosen at once; at first it is all of them."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Vertical lines in all panels, where an expression has a value."""

    name: str
    expression: str
    color: str


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page; `name` is that of its file and of its address in Grafana."""

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    marks: tuple[Marks, ...] = ()

    @property
    def panels(self) -> Iterator[Panel]:
        """Yield the panels in the order in which they are read."""
        for row in self.rows:
            yield from row.panels
