"""What dashboards showed once, as a small file: pictures are drawn from it, without any fleet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from e2e.dashboards.asking import Answer, Shown
from e2e.dashboards.series import Series, legend

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One series by its name; points are pairs of seconds since the start, and a value."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Shot:
    """What one panel showed."""

    page: str
    panel: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What all panels showed of one time, which began at `start` in Unix time."""

    start: float
    seconds: float
    shots: tuple[Shot, ...]

    def lines(self, page: str, panel: str) -> tuple[Line, ...]:
        """Return what a panel showed; nothing where it was not there yet."""
        found = [shot.lines for shot in self.shots if (shot.page, shot.panel) == (page, panel)]
        return found[0] if found else ()


def record(answers: Sequence[Answer], shown: Shown) -> Recording:
    """Return a recording of what was answered."""
    lines: dict[tuple[str, str], list[Line]] = {}
    for answer in answers:
        shot = lines.setdefault((answer.page, answer.panel.title), [])
        shot += [_line(answer, series, shown.start) for series in answer.series]
    return Recording(
        start=round(shown.start),
        seconds=round(shown.end - shown.start),
        shots=tuple(Shot(*where, tuple(found)) for where, found in lines.items()),
    )


def to_json(recording: Recording) -> str:
    """Return the text of a recording's file."""
    content = TypeAdapter(Recording).dump_python(recording, mode="json")
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def from_json(text: str) -> Recording:
    """Return the recording in a file; pydantic's ValidationError when it is none."""
    return TypeAdapter(Recording).validate_json(text)


def _line(answer: Answer, series: Series, start: float) -> Line:
    points = tuple((round(at - start), _rounded(value)) for at, value in series.points)
    return Line(legend(answer.query.legend, series.labels), points)


def _rounded(value: float) -> float:
    """Keep what a picture can show; moments are larger than that."""
    return value if value > 1e9 else float(f"{value:.{_DIGITS}g}")
