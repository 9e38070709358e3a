"""The report of a soak has its figures, and a page that shows them."""

from __future__ import annotations

import json

from e2e.checks import Published, Revival
from e2e.soak.asking import Tally
from e2e.soak.garbage import Stock
from e2e.soak.growth import Sight
from e2e.soak.processes import Life
from e2e.soak.readings import ALL, DESCRIPTORS, MEMORY, SHARED, Readings, Sample
from e2e.soak.report import content, page, rows
from e2e.soak.verdict import Ending, Facts, Stored, growths

OPTIONS = {"seconds": 3600.0, "seed": 1}
VERSIONS = tuple(Stored(number, f"digest-{number}") for number in range(4))


def read_for_an_hour() -> Readings:
    readings = Readings(began=0.0)
    for second in range(0, 3600, 10):
        samples = [
            Sample(MEMORY, "agent", "agent-0", Life(7, 1), 50.0 + second / 60.0),
            Sample(MEMORY, "agent", "agent-1", Life(8, 1 + second // 1800), 50.0),
            Sample(DESCRIPTORS, "agent", "agent-0", Life(7, 1), 14.0),
            Sample(SHARED, "fleet", "fleet", ALL, 3.0),
        ]
        readings.take(samples, now=float(second))
    return readings


def facts(readings: Readings) -> Facts:
    return Facts(
        growths=list(growths(readings.lives, Sight(60.0, 60.0))),
        revivals=(
            Revival("agent of main-1", 1800.0, 1.5, ""),
            Revival("aggregator", 1900.0, 2.5, ""),
        ),
        tallies={"main-0": Tally(answered=80)},
        down={},
        seen=(Published(5.0, 1, "digest-1"),),
        stored=VERSIONS,
        ledger=VERSIONS,
        store=Stock(20, 1000, ()),
        crashes={},
        ending=Ending(0, (), ()),
    )


def test_a_report_names_what_grows_and_draws_every_quantity() -> None:
    readings = read_for_an_hour()
    found = facts(readings)

    report = content(found, OPTIONS, {"cores": 2})
    shown = page(report, found, readings.lives)

    assert len(report["problems"]) == 1
    assert report["problems"][0].startswith("memory of agent: grows by 60.00 per hour")
    assert json.loads(json.dumps(report))["requests"]["main-0"]["answered"] == 80
    assert report["problems"][0] in shown
    assert shown.count("<svg") >= len(readings.lives)


def test_what_lived_too_briefly_has_a_row_without_a_trend() -> None:
    readings = Readings(began=0.0)
    readings.take([Sample(MEMORY, "run", "run", Life(1, 1), 40.0)], now=1.0)

    (row,) = rows(list(growths(readings.lives, Sight(60.0, 60.0))))

    assert row == ("memory, MiB", "run", "-", "-", "-", "16.0", "-")
