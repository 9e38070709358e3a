"""Curves over time from spans, and where one of them overtakes the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from e2e.timeline import Span, acceptance_length, tokens_per_second, within

WINDOW_SECONDS = 20.0
"""At the beginning, before that much time has passed, windows are shorter."""
EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a curve over the window that ends at `seconds`."""

    seconds: float
    value: float


def acceptance_curve(spans: Sequence[Span], *, begin: float, end: float) -> list[Point]:
    """Return the acceptance length over time; a window without a verify step has no point."""
    lengths = (
        (at, acceptance_length(within(spans, first, at))) for first, at in _windows(begin, end)
    )
    return [Point(at - begin, length) for at, length in lengths if length is not None]


def rate_curve(spans: Sequence[Span], *, begin: float, end: float) -> list[Point]:
    """Return tokens per second over time."""
    return [
        Point(at - begin, tokens_per_second(spans, first, at)) for first, at in _windows(begin, end)
    ]


def crossover_seconds(
    curve: Sequence[Point], control: Sequence[Point], *, not_before: float = 0.0
) -> float | None:
    """Return the first time from which the curve stays above the control's, None without one."""
    reference = {point.seconds: point.value for point in control}
    found = None
    for point in curve:
        if point.seconds not in reference:
            continue
        if point.value <= reference[point.seconds]:
            found = None
        elif found is None and point.seconds >= not_before:
            found = point.seconds
    return found


def last_third(spans: Sequence[Span], *, begin: float, end: float) -> list[Span]:
    """Return what happened in the last third of the time."""
    return within(spans, end - (end - begin) / 3, end)


def gain_percent(value: float | None, base: float | None) -> float | None:
    """Return by how many percent a value exceeds its base, None when either is unknown."""
    if value is None or base is None:
        return None
    return 100.0 * (value / base - 1.0)


def _windows(begin: float, end: float) -> list[tuple[float, float]]:
    """Return the begin and end of every window; none reaches back before the beginning."""
    ends = (
        begin + EVERY_SECONDS * (step + 1) for step in range(int((end - begin) / EVERY_SECONDS))
    )
    return [(max(begin, at - WINDOW_SECONDS), at) for at in ends]
