"""The report of the shift experiment: its figures and its page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.cohorts import CONTROL, PUSH, cohorts_of
from e2e.documents import LANGUAGES
from e2e.driving import Leg
from e2e.observing import Observer
from e2e.report.curves import gain_percent
from e2e.report.figures import bars
from e2e.report.fleet import Recording, cohort_figures, fleet_sections, live_figures
from e2e.report.page import Section, Table, render
from e2e.report.transfer import backward_transfer, worst_domain
from specfleet_cli.endpoints import Fleet
from specfleet_cli.traffic.driving import summary

PHASES = ("hi", "py", "ja")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen; `last_versions` are the newest ones when each phase ended."""

    fleet: Fleet
    observer: Observer
    legs: tuple[Leg, ...]
    last_versions: tuple[int, ...]


def content(found: Seen, walked: Mapping[str, Mapping[int, float]]) -> dict[str, Any]:
    """Return the content of report.json."""
    matrix = [
        [_gain(walked, version, language) for language in PHASES] for version in found.last_versions
    ]
    return {
        "experiment": "shift",
        "domains": [LANGUAGES[language] for language in PHASES],
        "held_out_gain_percent": matrix,
        "backward_transfer_points": backward_transfer(matrix),
        "worst_domain_percent": worst_domain(matrix),
        "live_gain_percent": [
            live_figures(recording(found, [leg]), PUSH, CONTROL)["gain_percent"]
            for leg in found.legs
        ],
        "requests": sum(
            engine.requests for leg in found.legs for engine in leg.result.engines.values()
        ),
        "request_errors": sum(leg.result.num_errors for leg in found.legs),
        "output_mismatches": sum(len(leg.result.differences) for leg in found.legs),
        "phases": [
            {
                "domain": LANGUAGES[language],
                "seconds": leg.ended - leg.began,
                "last_version": version,
                "cohorts": cohort_figures(recording(found, [leg])),
                "traffic": summary(leg.result),
            }
            for language, leg, version in zip(PHASES, found.legs, found.last_versions, strict=True)
        ],
        "held_out_acceptance_length": {
            LANGUAGES[language]: lengths for language, lengths in walked.items()
        },
    }


def recording(found: Seen, legs: Sequence[Leg]) -> Recording:
    """Return what was seen from the first leg's begin to the last one's end."""
    observer = found.observer
    return Recording(
        cohorts=cohorts_of(found.fleet),
        counts=observer.counts,
        trainings=observer.trainings,
        published=observer.published,
        observations=observer.observations,
        begin=legs[0].began,
        end=legs[-1].ended,
    )


def page(found: Seen, report: Mapping[str, Any]) -> str:
    """Return report.html."""
    whole = recording(found, found.legs)
    domains, matrix = report["domains"], report["held_out_gain_percent"]
    marks = {name: leg.began - whole.begin for name, leg in zip(domains, found.legs, strict=True)}
    return render(
        "Traffic that changes",
        "One engine learns from Hindi, then Python, then Japanese traffic, with no protection "
        "against forgetting; another one serves the stock drafter.",
        [
            ("backward transfer, points", f"{report['backward_transfer_points']:+.1f}"),
            ("worst domain at the end", f"{report['worst_domain_percent']:+.1f} %"),
            ("different outputs", str(report["output_mismatches"])),
            ("errors / requests", f"{report['request_errors']} / {report['requests']}"),
        ],
        [
            Section(
                "Held-out documents after each phase",
                "Gain over stock in tokens per verify step, on documents that were never sent.",
                bars(
                    [f"after {name}" for name in domains],
                    {name: [row[column] for row in matrix] for column, name in enumerate(domains)},
                    label="gain over stock, %",
                ),
                Table(
                    ("after", *domains),
                    tuple(
                        (name, *(f"{gain:+.1f} %" for gain in row))
                        for name, row in zip(domains, matrix, strict=True)
                    ),
                ),
            ),
            *fleet_sections(whole, marks=marks),
        ],
    )


def _gain(walked: Mapping[str, Mapping[int, float]], version: int, language: str) -> float:
    gain = gain_percent(walked[language][version], walked[language][0])
    assert gain is not None
    return gain
