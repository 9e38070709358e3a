"""Whether drafts make the fleet's engines faster: the condition SpeculationPays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from specfleet_common.wire.messages import Speculation
from specfleet_operator.aggregation import Aggregation
from specfleet_operator.cohorts import Cohort
from specfleet_operator.conditions import Verdict, listed, pod_names, unheard

SPECULATION_PAYS: Final = "SpeculationPays"
SURELY: Final = 0.05
"""A loss that is smaller than this is no news: what is measured is not that exact."""


def speculation_pays(
    cohorts: Sequence[Cohort], aggregation: Aggregation, *, before: Verdict | None
) -> Verdict | None:
    """Judge speculation by what engines measure; None while none has measured anything.

    `before` is what was said last. An engine that was below break-even has to come back above it.
    """
    if (unknown := unheard(aggregation, "time that drafting takes")) is not None:
        return None if before is None else unknown
    names = pod_names(cohorts)
    told = {
        names.get(worker.worker_id, worker.worker_id): worker.speculation
        for worker in aggregation.workers
        if worker.live and worker.speculation is not None
    }
    if not told:
        return None
    limit = 0.0 if before is not None and before.status == "False" else -SURELY
    below = {name: one for name, one in told.items() if one.gain < limit}
    if not below:
        return Verdict("True", "AboveBreakEven", "Drafts bring more than drafting costs.")
    worst = min(below, key=lambda name: (below[name].gain, name))
    return Verdict("False", "BelowBreakEven", _sentence(below, worst, below[worst]))


def _sentence(below: Iterable[str], worst: str, one: Speculation) -> str:
    return (
        f"{listed(below)} would be faster without speculation: {worst} puts out"
        f" {one.acceptance_length:.1f} tokens per verification step, and break-even is at"
        f" {one.break_even_length:.1f}."
    )
