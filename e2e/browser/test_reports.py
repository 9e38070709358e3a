"""Reports in a real browser: complete, quiet, readable in light and dark, on screen and phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.browser.devtools import Connection, connected
from e2e.browser.looks import looks
from e2e.browser.pages import PHONE_WIDTH, SCREEN_WIDTH, Scheme, opened
from e2e.demo_page import page
from e2e.demo_recording import load
from e2e.demo_report import content
from e2e.pictures.recorded import DEMO
from e2e.report.curves import Point
from e2e.report.figures import bars, over_time
from e2e.report.page import Section, Table, render
from specfleet_cli.promotions.cases import promotions_of
from specfleet_cli.promotions.plotting import plot_file
from specfleet_cli.promotions.sources import Stored
from specfleet_cli.promotions.tests.lineages import FakeLineage, promoted
from specfleet_common.store.directory import DirectoryStore
from tools.browser import binary

pytestmark = pytest.mark.e2e

LEAST_CONTRAST = 4.5
"""Of writing, as WCAG 2 asks for (level AA)."""
LEAST_PIXELS = 10.0

RISING = [Point(float(at), 1.0 + at / 100) for at in range(100)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Connection]:
    """Give a browser; that there is none is a failure, not a reason to skip."""
    with connected(binary(os.environ)) as connection:
        yield connection


def demo(path: Path) -> None:
    facts = load(DEMO)
    path.write_text(page(facts, content(facts)), encoding="utf-8")


def experiment(path: Path) -> None:
    checks = Table(
        ("check", "holds", "evidence"),
        (("outputs are those of the control", "yes", f"digest {'0123456789abcdef' * 4} twice"),),
    )
    wide = Table(tuple(f"phase {number}" for number in range(9)), (("+12.3 %",) * 9,))
    curves = {f"cohort {number}": RISING for number in range(6)}
    marks = {"an engine is killed": 20.0, "another one joins": 60.0}
    path.write_text(
        render(
            "Members come and go",
            "https://an.address.of.some.length.example/that/has/no/place/where/a/line/could/end",
            [("live acceptance length", "+50.0 %"), ("different outputs", "0")],
            [
                Section("Checks", "", table=checks),
                Section("Curves", "", over_time(curves, label="tokens", marks=marks, ticks=[50])),
                Section("Bars", "", bars(["1"], {"a": (1.0,), "b": (-1.0,)}, label="gain"), wide),
            ],
        ),
        encoding="utf-8",
    )


def promotion(path: Path) -> None:
    lineage = FakeLineage(DirectoryStore(path.parent / "store"))
    promoted(lineage)
    plot_file(Stored(promotions_of(lineage.store)[0], lineage.store), path)


PLOTS = {
    demo: (
        "Acceptance length",
        "Tokens per second, while training",
        "Acceptance by position",
        "Loss",
        "Training speed",
        "Rounds",
        "Held-out documents, version by version",
        "Speed with training paused",
        "A candidate that was learnt",
        "A candidate that was damaged",
        "A candidate that is better, and slow",
    ),
    experiment: ("Curves", "Bars"),
    promotion: ("How its effect came about",),
}
"""How the names of a report's plots begin."""

Report = tuple[Path, tuple[str, ...]]


@pytest.fixture(scope="module", params=PLOTS, ids=lambda write: write.__name__)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("report") / "report.html"
    request.param(path)
    return path, PLOTS[request.param]


@pytest.mark.parametrize("scheme", Scheme)
@pytest.mark.parametrize("width", [SCREEN_WIDTH, PHONE_WIDTH])
def test_a_report_is_complete_and_can_be_read(
    browser: Connection, report: Report, width: int, scheme: Scheme
) -> None:
    path, plots = report

    with opened(browser, path, width=width, scheme=scheme) as shown:
        seen = looks(shown)

    assert shown.complaints == ()
    assert shown.requests == (path.as_uri(),)
    assert seen.width <= width
    for figure, beginning in zip(seen.figures, plots, strict=True):
        assert figure.name.startswith(beginning)
        assert figure.drawn == 1, figure
        assert figure.marks >= 5, figure
        assert 0 <= figure.left < figure.right <= width, figure
    assert seen.repeated_ids == ()
    assert (seen.background < 0.1) == (scheme is Scheme.DARK)
    for letters in seen.letters:
        assert letters.contrast >= LEAST_CONTRAST, letters
        assert letters.pixels >= LEAST_PIXELS, letters


def test_what_a_page_asks_for_and_complains_of_is_noticed(
    browser: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "bad.html"
    path.write_text(
        "<!doctype html><img src='missing.png'><div style='width: 900px'>wide</div>"
        "<script>console.error('broken'); throw new Error('thrown')</script>"
    )

    with opened(browser, path, width=PHONE_WIDTH) as shown:
        seen = looks(shown)

    assert (tmp_path / "missing.png").as_uri() in shown.requests
    assert "broken" in shown.complaints
    assert any("Uncaught" in complaint for complaint in shown.complaints)
    assert seen.width > PHONE_WIDTH
