"""What has to be true of a fleet that learns. Pure: facts in, checks with their evidence out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specfleet_cli.acceptance import Reading, acceptance_length
from specfleet_cli.traffic.driving import Result
from specfleet_common.lineage import MISMATCH, short

WANTED_VERSIONS = 2
WANTED_RATIO = 1.1
"""Of acceptance lengths."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked; `detail` is the evidence."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What an engine ran from one moment on, as its rank page says."""

    seconds: float
    worker: str
    swaps: int
    observed: str
    digest: str


@dataclass(frozen=True, slots=True)
class Published:
    """A version, when the aggregator first told of it."""

    seconds: float
    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class Revival:
    """One process that was killed; `back_after_seconds` is None when it did not come back."""

    victim: str
    killed_at: float
    back_after_seconds: float | None
    detail: str


def check_versions(published: Sequence[Published], stored: Sequence[int]) -> Check:
    """At least two versions came after stock, and the store has every number once."""
    new = [version for version in published if version.number > 0]
    complete = list(stored) == list(range(len(stored)))
    listed = ", ".join(f"{v.number} ({short(v.digest)}) at {v.seconds:.0f} s" for v in new)
    return Check(
        name="new versions are published and numbered without gaps",
        passed=len(new) >= WANTED_VERSIONS and complete,
        detail=f"published {listed or 'none'}; stored {list(stored)}",
    )


def check_observed(
    worker: str, published: Sequence[Published], observations: Sequence[Observation]
) -> Check:
    """The engine ran at least two of the new versions."""
    ran = {observation.digest for observation in observations if observation.worker == worker}
    seen = [version.number for version in published if version.number > 0 and version.digest in ran]
    return Check(
        name=f"{worker} ran new versions",
        passed=len(seen) >= WANTED_VERSIONS,
        detail=f"observed versions {seen}",
    )


def check_swaps(worker: str, observations: Sequence[Observation]) -> Check:
    """Every swap changed the digest of the live weights, and none left others than intended."""
    mine = [observation for observation in observations if observation.worker == worker]
    swapped = [
        (before, after) for before, after in itertools.pairwise(mine) if after.swaps != before.swaps
    ]
    unchanged = [after for before, after in swapped if after.digest == before.digest]
    mismatches = [observation for observation in mine if observation.observed == MISMATCH]
    return Check(
        name=f"each swap of {worker} changed what it runs",
        passed=bool(swapped) and not unchanged and not mismatches,
        detail=f"{len(swapped)} swaps, {len(unchanged)} without a change, "
        f"{len(mismatches)} mismatches",
    )


def check_stock(worker: str, observations: Sequence[Observation]) -> Check:
    """The control engine never ran anything but the drafter it was shipped with."""
    ran = {observation.observed for observation in observations if observation.worker == worker}
    return Check(
        name=f"{worker} ran stock all the time", passed=ran == {"stock"}, detail=f"ran {ran}"
    )


def check_acceptance(worker: str, control: str, readings: Mapping[str, Sequence[Reading]]) -> Check:
    """In the last third, the engine drafts better than the control by what no chance explains.

    It need not be better than in its own first third: what is learnt fast is learnt by then.
    """
    first, last = _third(readings[worker], 0), _third(readings[worker], 2)
    stock = _third(readings[control], 2)
    better = last is not None and stock is not None and last >= WANTED_RATIO * stock
    return Check(
        name=f"{worker} drafts better than {control}",
        passed=better,
        detail=f"acceptance length {_shown(first)} at first, {_shown(last)} in the end; "
        f"{control} {_shown(stock)} in the end",
    )


def check_outputs(outcome: Result) -> Check:
    """No engine answered anything else than the control."""
    counts = {name: (one.different, one.compared) for name, one in outcome.engines.items()}
    others = {name: count for name, count in counts.items() if name != outcome.reference}
    return Check(
        name="outputs are those of the control",
        passed=not outcome.differences and all(compared for _, compared in others.values()),
        detail=", ".join(f"{name}: {n} of {of} differ" for name, (n, of) in others.items()),
    )


def check_errors(outcome: Result) -> Check:
    """No request failed."""
    failed = {name: one.errors for name, one in outcome.engines.items() if one.errors}
    total = sum(one.requests for one in outcome.engines.values())
    return Check(
        name="no request failed", passed=not failed, detail=f"{total} requests, errors {failed}"
    )


def check_revival(revival: Revival) -> Check:
    """A killed process came back."""
    back = revival.back_after_seconds
    came = "did not come back" if back is None else f"back after {back:.1f} s"
    return Check(
        name=f"{revival.victim} comes back after kill -9",
        passed=back is not None,
        detail=f"killed at {revival.killed_at:.0f} s, {came}; {revival.detail}",
    )


def _third(readings: Sequence[Reading], index: int) -> float | None:
    """Return the acceptance length of one third of the readings' time."""
    if not readings:
        return None
    begin, end = readings[0].at, readings[-1].at
    borders = [begin + (end - begin) * part / 3 for part in (index, index + 1)]
    before, after = (min(readings, key=lambda one: abs(one.at - border)) for border in borders)
    return acceptance_length(before, after)


def _shown(length: float | None) -> str:
    return "unknown" if length is None else f"{length:.3f}"
