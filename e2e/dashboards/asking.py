"""Asks Prometheus what dashboards ask, with values in the places of Grafana's variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from e2e.dashboards.prometheus import Prometheus
from e2e.dashboards.series import Series
from tools.dashboards.model import Dashboard, Kind, Panel, Query


@dataclass(frozen=True, slots=True)
class Shown:
    """What a viewer has chosen: one fleet with all cohorts and pods, and a time."""

    namespace: str
    fleet: str
    start: float
    end: float
    step_seconds: float
    scrape_seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query of a panel returned."""

    page: str
    panel: Panel
    query: Query
    series: tuple[Series, ...]

    @property
    def is_missed(self) -> bool:
        """Say whether a viewer would miss something in a fleet that is well."""
        return not self.series and not self.query.absent


def expand(expression: str, shown: Shown) -> str:
    """Return an expression as Grafana would send it."""
    rate = max(shown.step_seconds + shown.scrape_seconds, 4 * shown.scrape_seconds)
    values = {
        "namespace": shown.namespace,
        "fleet": shown.fleet,
        "cohort": ".*",
        "pod": ".*",
        "__rate_interval": f"{rate:.0f}s",
        "__interval": f"{shown.step_seconds:.0f}s",
        "__range": f"{shown.end - shown.start:.0f}s",
    }
    return re.sub(r"\$(\w+)", lambda found: values[found[1]], expression)


def ask(server: Prometheus, pages: Sequence[Dashboard], shown: Shown) -> tuple[Answer, ...]:
    """Return the answers to all queries of all panels."""
    return tuple(
        Answer(page.name, panel, query, _series(server, panel, query, shown))
        for page in pages
        for panel in page.panels
        for query in panel.queries
    )


def _series(server: Prometheus, panel: Panel, query: Query, shown: Shown) -> tuple[Series, ...]:
    expression = expand(query.expression, shown)
    if panel.kind is Kind.NUMBER:
        return server.at(expression, shown.end)
    return server.during(
        expression, start=shown.start, end=shown.end, step_seconds=shown.step_seconds
    )
