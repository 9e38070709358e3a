"""What the panels of a fleet showed, in words: gaps, and a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from e2e.dashboards.asking import Answer
from e2e.dashboards.series import Series, legend

_SERIES_SHOWN = 3


def missed(answers: Iterable[Answer]) -> list[str]:
    """Name the queries that returned nothing, though they always should."""
    return [
        f"{one.page}, {one.panel.title}: {one.query.expression}" for one in answers if one.is_missed
    ]


def table(answers: Iterable[Answer]) -> str:
    """Return a Markdown table for each dashboard: what every panel returned."""
    return "\n".join(
        line
        for page, found in groupby(answers, lambda one: one.page)
        for line in _page(page, found)
    )


def _page(page: str, answers: Iterable[Answer]) -> Iterator[str]:
    yield f"### {page}\n"
    yield "| panel | unit | series | points | newest values |"
    yield "| --- | --- | --- | --- | --- |"
    for title, found in groupby(answers, lambda one: one.panel.title):
        yield _row(title, list(found))
    yield ""


def _row(title: str, answers: Sequence[Answer]) -> str:
    named = [(one, series) for one in answers for series in one.series]
    points = sum(len(series.points) for _, series in named)
    values = [_newest(one, series) for one, series in named[:_SERIES_SHOWN]]
    if len(named) > _SERIES_SHOWN:
        values.append("…")
    reasons = [f"none: {one.query.absent or 'missing'}" for one in answers if not one.series]
    unit = answers[0].panel.unit.removeprefix("suffix: ")
    return f"| {title} | {unit} | {len(named)} | {points} | {'; '.join(values + reasons)} |"


def _newest(answer: Answer, series: Series) -> str:
    name = legend(answer.query.legend, series.labels)
    value = f"{series.points[-1][1]:.4g}"
    return f"{name}: {value}" if name else value
