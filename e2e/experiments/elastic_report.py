"""The report of the elastic experiment: its figures, its checks, its page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from e2e.checks import Check, check_revival, check_versions
from e2e.cohorts import CONTROL, PUSH, cohorts_of
from e2e.documents import LANGUAGES
from e2e.driving import Leg
from e2e.experiments.disturbing import Happened
from e2e.observing import Observer
from e2e.report.curves import gain_percent
from e2e.report.fleet import Recording, cohort_figures, fleet_sections, live_figures
from e2e.report.page import Section, Table, render
from specfleet_cli.endpoints import Fleet
from specfleet_cli.traffic.driving import summary

JOINED = "joined"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of the whole story."""

    fleet: Fleet
    observer: Observer
    leg: Leg
    happened: Happened

    @property
    def killed(self) -> str:
        """Return the engine that was killed."""
        return [worker.name for worker in self.fleet.workers if worker.train][-1]

    @property
    def surviving(self) -> list[str]:
        """Return the engines that nothing was done to."""
        return [worker.name for worker in self.fleet.workers if worker.name != self.killed]

    @property
    def recording(self) -> Recording:
        """Return what was seen while there was traffic; the joined engine is a cohort."""
        cohorts = cohorts_of(self.fleet)
        if self.happened.joined is not None:
            cohorts[JOINED] = (self.happened.joined.name,)
        return Recording(
            cohorts=cohorts,
            counts=self.observer.counts,
            trainings=self.observer.trainings,
            published=self.observer.published,
            observations=self.observer.observations,
            begin=self.leg.began,
            end=self.leg.ended,
        )


def checks(found: Seen, stored: Sequence[int]) -> list[Check]:
    """Return what has to hold whoever comes and goes."""
    result, joined = found.leg.result, found.happened.joined_result
    failed = {name: result.engines[name].errors for name in found.surviving}
    if joined is not None:
        failed[JOINED] = {
            kind: n for one in joined.engines.values() for kind, n in one.errors.items()
        }
    different = num_different(found)
    return [
        *map(check_revival, found.happened.revivals),
        check_versions(found.observer.published, stored),
        Check(
            name="no request to another engine than the killed one failed",
            passed=not any(failed.values()),
            detail=f"errors {failed}; of the killed one {result.engines[found.killed].errors}",
        ),
        Check(
            name="outputs are those of the control",
            passed=different == 0,
            detail=f"{different} differ",
        ),
    ]


def num_different(found: Seen) -> int:
    """Return how many answers were not the control's."""
    results = [found.leg.result, found.happened.joined_result]
    return sum(len(result.differences) for result in results if result is not None)


def content(
    found: Seen, stored: list[int], walked: Mapping[str, Mapping[int, float]]
) -> dict[str, Any]:
    """Return the content of report.json."""
    happened, result = found.happened, found.leg.result
    joined = happened.joined_result
    back = {one.victim: one.back_after_seconds for one in happened.revivals}
    live = live_figures(found.recording, PUSH, CONTROL)
    return {
        "experiment": "elastic",
        "live_gain_percent": live["gain_percent"],
        "aggregator_back_after_seconds": back.get("aggregator"),
        "surviving_request_errors": sum(
            sum(result.engines[name].errors.values()) for name in found.surviving
        ),
        "requests": sum(engine.requests for engine in result.engines.values()),
        "output_mismatches": num_different(found),
        "held_out_gain_percent": {
            LANGUAGES[language]: gain_percent(lengths[stored[-1]], lengths[0])
            for language, lengths in walked.items()
        },
        "checks": [asdict(one) for one in checks(found, stored)],
        "versions": stored,
        "happened": [asdict(one) for one in happened.revivals],
        "cohorts": cohort_figures(found.recording),
        "published": [asdict(one) for one in found.observer.published],
        "traffic": summary(result),
        "traffic_of_joined": summary(joined) if joined else None,
    }


def page(found: Seen, report: Mapping[str, Any]) -> str:
    """Return report.html."""
    begin = found.leg.began
    back = report["aggregator_back_after_seconds"]
    return render(
        "Members come and go",
        "Engines learn from Hindi traffic. One is killed while another one joins, then the "
        "aggregator, then a trainer in the middle of a round.",
        [
            ("live acceptance length, last third", f"{report['live_gain_percent'] or 0.0:+.1f} %"),
            ("aggregator back after", "never" if back is None else f"{back:.1f} s"),
            ("errors on surviving engines", str(report["surviving_request_errors"])),
            ("different outputs", str(report["output_mismatches"])),
            *(
                (f"held-out {name}", f"{gain:+.1f} %")
                for name, gain in report["held_out_gain_percent"].items()
            ),
        ],
        [
            Section(
                "What happened",
                "Seconds are those of the traffic. Back means: an engine answers, the aggregator "
                "tells of the same version or a newer one, a trainer has its steps.",
                table=Table(
                    ("who", "at", "back after", "and"),
                    tuple(
                        (
                            one["victim"],
                            f"{one['killed_at'] - begin:.0f} s",
                            "never"
                            if one["back_after_seconds"] is None
                            else f"{one['back_after_seconds']:.1f} s",
                            one["detail"],
                        )
                        for one in report["happened"]
                    ),
                ),
            ),
            Section(
                "Checks",
                "",
                table=Table(
                    ("check", "holds", "evidence"),
                    tuple(
                        (one["name"], "yes" if one["passed"] else "NO", one["detail"])
                        for one in report["checks"]
                    ),
                ),
            ),
            *fleet_sections(
                found.recording,
                marks={
                    one["victim"].split()[0]: one["killed_at"] - begin for one in report["happened"]
                },
            ),
        ],
    )
