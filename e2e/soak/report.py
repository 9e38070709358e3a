"""The report of a soak: its figures as JSON, and as a page with a curve for every quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from statistics import fmean
from typing import Any

from e2e.report.curves import Point
from e2e.report.figures import over_time
from e2e.report.page import Section, Table, render
from e2e.soak import growth
from e2e.soak.readings import MEMORY, SHARED, STATE, Lives
from e2e.soak.verdict import Facts, Growth, problems

POINTS = 300
"""Of a curve: more would not be seen."""
UNITS = {MEMORY: "MiB", SHARED: "MiB", STATE: "MiB"}
COLUMNS = ("what", "of", "level", "per hour", "added in the longest life", "allowed", "lives")
KILL_COLUMNS = ("killed", "times", "back after, mean", "longest")


def content(facts: Facts, options: Mapping[str, Any], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures."""
    return {
        "problems": problems(facts),
        "machine": dict(machine),
        **options,
        "growth": [asdict(one) for one in facts.growths],
        "kills": [asdict(one) for one in facts.revivals],
        "requests": {
            name: {
                "answered": tally.answered,
                "tokens": tally.tokens,
                "failed_while_the_engine_was_killed": len(tally.failures),
                "different_answers": len(tally.different),
            }
            for name, tally in facts.tallies.items()
        },
        "versions": len(facts.stored),
        "store": asdict(facts.store),
        "tracebacks": dict(facts.crashes),
    }


def page(
    report: Mapping[str, Any],
    facts: Facts,
    lives: Mapping[str, Mapping[str, Mapping[str, Lives]]],
) -> str:
    """Return the report as a page."""
    kills = [one.killed_at for one in facts.revivals]
    found = report["problems"]
    hours = report["seconds"] / 3600
    answered = sum(tally.answered for tally in facts.tallies.values())
    return render(
        "A soak",
        f"{hours:.2f} hours, {len(kills)} kills. " + ("; ".join(found) or "Nothing has grown."),
        [
            ("versions", str(len(facts.stored))),
            ("requests", str(answered)),
            ("kills", str(len(kills))),
            ("problems", str(len(found))),
        ],
        [
            Section("Growth", "", table=Table(COLUMNS, tuple(map(_row, facts.growths)))),
            Section("Kills", "", table=Table(KILL_COLUMNS, tuple(_killed(facts)))),
            *(_curves(quantity, kinds, kills) for quantity, kinds in lives.items()),
        ],
    )


def rows(growths: Sequence[Growth]) -> list[tuple[str, ...]]:
    """Return the cells of the table of growth."""
    return [_row(one) for one in growths]


def _row(one: Growth) -> tuple[str, ...]:
    within = one.within_lives
    facts = ("-",) * 3
    if within is not None:
        facts = (f"{within.level:.1f}", f"{within.per_hour:+.2f}", f"{within.added:+.2f}")
    name = f"{one.quantity}, {UNITS[one.quantity]}" if one.quantity in UNITS else one.quantity
    lives = str(within.lives) if within else "-"
    return (name, one.kind, *facts, f"{one.allowed:.1f}", lives)


def _killed(facts: Facts) -> Iterator[tuple[str, ...]]:
    by_victim: dict[str, list[float]] = {}
    for one in facts.revivals:
        kind = one.victim.split(" of ")[0]
        took = by_victim.setdefault(kind, [])
        if one.back_after_seconds is not None:
            took.append(one.back_after_seconds)
    for kind, took in sorted(by_victim.items()):
        mean, longest = (f"{fmean(took):.1f} s", f"{max(took):.1f} s") if took else ("-", "-")
        yield kind, str(len(took)), mean, longest


def _curves(quantity: str, kinds: Mapping[str, Mapping[str, Lives]], kills: list[float]) -> Section:
    curves = {
        name: _thinned([point for life in lives.values() for point in life])
        for names in kinds.values()
        for name, lives in names.items()
    }
    label = f"{quantity}, {UNITS[quantity]}" if quantity in UNITS else quantity
    plot = over_time(curves, label=label, ticks=kills)
    return Section(quantity.capitalize(), "Grey lines are kills.", plot)


def _thinned(points: Sequence[growth.Point]) -> list[Point]:
    """Return means of so many points that a curve stays small."""
    ordered = sorted(points, key=lambda one: one.seconds)
    width = max(1, -(-len(ordered) // POINTS))
    numbered = groupby(enumerate(ordered), lambda one: one[0] // width)
    return [
        Point(group[0].seconds, fmean(one.value for one in group))
        for group in ([point for _, point in members] for _, members in numbered)
    ]
