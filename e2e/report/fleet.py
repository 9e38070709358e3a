"""What a fleet's traffic showed, cohort by cohort: figures, and sections of a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.checks import Observation, Published
from e2e.report.curves import (
    WINDOW_SECONDS,
    Point,
    acceptance_curve,
    crossover_seconds,
    gain_percent,
    last_third,
    rate_curve,
)
from e2e.report.figures import bars, over_time
from e2e.report.page import Section
from e2e.timeline import (
    Count,
    Span,
    Training,
    acceptance_by_position,
    acceptance_length,
    spans,
    tokens_per_second,
)
from specfleet_common.lineage import STOCK


@dataclass(frozen=True, slots=True)
class Recording:
    """What was seen from `begin` to `end`; cohorts name their engines."""

    cohorts: Mapping[str, tuple[str, ...]]
    counts: Sequence[Count]
    trainings: Sequence[Training]
    published: Sequence[Published]
    observations: Sequence[Observation]
    begin: float
    end: float

    def spans(self, cohort: str) -> list[Span]:
        """Return what the engines of a cohort did."""
        return spans(self.counts, self.cohorts[cohort])

    def first_learnt(self, cohort: str) -> float | None:
        """Return when a cohort first ran something else than stock, in seconds from `begin`."""
        found = (
            max(0.0, one.seconds - self.begin)
            for one in self.observations
            if one.worker in self.cohorts[cohort] and one.observed != STOCK
        )
        return next(found, None)


def live_figures(recording: Recording, cohort: str, control: str) -> dict[str, float | None]:
    """Return a cohort's gain in acceptance over the control's, and when it overtook it.

    Before it runs what it has learnt, a cohort is above the control only by chance.
    """
    begin, end = recording.begin, recording.end
    lengths = [
        acceptance_length(last_third(recording.spans(name), begin=begin, end=end))
        for name in (cohort, control)
    ]
    curves = [
        acceptance_curve(recording.spans(name), begin=begin, end=end) for name in (cohort, control)
    ]
    learnt = recording.first_learnt(cohort)
    return {
        "acceptance_length": lengths[0],
        "control_acceptance_length": lengths[1],
        "gain_percent": gain_percent(*lengths),
        "first_learnt_seconds": learnt,
        "crossover_seconds": (
            None if learnt is None else crossover_seconds(*curves, not_before=learnt)
        ),
    }


def cohort_figures(recording: Recording) -> dict[str, Any]:
    """Return every cohort's figures over the last third of the traffic."""
    begin, end = recording.begin, recording.end
    found = {}
    for cohort, workers in recording.cohorts.items():
        some = last_third(recording.spans(cohort), begin=begin, end=end)
        found[cohort] = {
            "engines": len(workers),
            "acceptance_length": acceptance_length(some),
            "acceptance_by_position": acceptance_by_position(some),
            "tokens_per_second": tokens_per_second(some, end - (end - begin) / 3, end),
        }
    return found


def fleet_sections(recording: Recording, *, marks: Mapping[str, float]) -> list[Section]:
    """Return the sections about the traffic; `marks` are moments of it to point out.

    The first cohort is the one that the others are compared with.
    """
    reference = next(iter(recording.cohorts))
    begin, end, cohorts = recording.begin, recording.end, recording.cohorts
    versions = [one.seconds - begin for one in recording.published if one.number > 0]
    all_spans = {cohort: recording.spans(cohort) for cohort in cohorts}
    lasts = {
        cohort: acceptance_by_position(last_third(some, begin=begin, end=end))
        for cohort, some in all_spans.items()
    }
    depths = max(map(len, lasts.values()))
    sections = [
        Section(
            "Acceptance length",
            f"Tokens per verify step, over the {WINDOW_SECONDS:.0f} seconds before each moment. "
            "Grey lines are new versions.",
            over_time(
                {
                    cohort: acceptance_curve(some, begin=begin, end=end)
                    for cohort, some in all_spans.items()
                },
                label="tokens per verify step",
                marks=marks,
                ticks=versions,
                reference=reference,
            ),
        ),
        Section(
            "Tokens per second, while training",
            "Engines that share cores with trainers and with each other measure the scheduler "
            "as well; a speed to go by is measured apart, where nothing trains.",
            over_time(
                {
                    cohort: rate_curve(some, begin=begin, end=end)
                    for cohort, some in all_spans.items()
                },
                label="tokens per second",
                marks=marks,
                ticks=versions,
                reference=reference,
            ),
        ),
        Section(
            "Acceptance by position",
            "Share of verify steps that accepted the first, second, … drafted token, in the last "
            "third of the traffic.",
            bars(
                [str(depth + 1) for depth in range(depths)],
                {cohort: values for cohort, values in lasts.items() if values},
                label="share accepted",
                xlabel="drafted token",
                reference=reference,
            ),
        ),
    ]
    return sections + _training_sections(recording, versions)


def _training_sections(recording: Recording, versions: Sequence[float]) -> list[Section]:
    """Return nothing when no trainer has made a step."""
    during = [
        one
        for one in recording.trainings
        if one.loss and recording.begin <= one.seconds <= recording.end
    ]
    if not during:
        return []
    workers = sorted({one.worker for one in during})
    first = [one for one in during if one.worker == workers[0]]

    losses = {
        f"drafted token {depth + 1}": [
            Point(one.seconds - recording.begin, one.loss[depth]) for one in first
        ]
        for depth in range(len(first[0].loss))
    }
    speeds = {
        worker: [
            Point(one.seconds - recording.begin, one.positions_per_second)
            for one in during
            if one.worker == worker
        ]
        for worker in workers
    }
    rounds = [Point(one.seconds - recording.begin, one.version) for one in first]
    return [
        Section(
            "Loss",
            f"Cross-entropy of each drafted token against what the target wrote, {workers[0]}.",
            over_time(losses, label="cross-entropy", ticks=versions),
        ),
        Section(
            "Training speed",
            "Positions (tokens with all their labels) per second, over the last half minute.",
            over_time(speeds, label="positions per second", ticks=versions),
        ),
        Section(
            "Rounds",
            "The newest version at each moment.",
            over_time({"version": rounds}, label="version"),
        ),
    ]
