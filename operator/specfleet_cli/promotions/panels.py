"""Which pictures a promotion's evidence makes: one for each phase that has records. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from specfleet_cli.evidence_plot import AnyPanel, Guard, GuardPanel, Mark, Panel, looks, series
from specfleet_cli.promotions.cases import Case, in_order, stored_at
from specfleet_cli.promotions.listing import Step
from specfleet_common.api.promotion import Outcome
from specfleet_common.judge.canary import SPEED, LiveComparison, speed_requirement
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.guards import Guards, rises
from specfleet_common.judge.records import Block, Records, Walk, united
from specfleet_common.judge.rejudging import AFTER, REPLAY, live_comparison
from specfleet_common.judge.replay import LIVE, walk_clusters
from specfleet_common.judge.switchback import counted_blocks
from specfleet_common.judge.totals import Totals, add_up
from specfleet_common.store.entries import Rules
from specfleet_common.store.evidence import Batch

PENDING, CANARY = "Pending", "Canary"
LIVE_PHASES = (CANARY, "Rolling")
MAX_GUARD_POINTS = 60

OneBlock = tuple[Block, ...]


def panels(case: Case) -> tuple[AnyPanel, ...]:
    """Return the panels of the phases that have records, in their order."""
    found = (
        _replay(case),
        _live(case, CANARY, case.batches, LIVE_PHASES),
        _guards(case),
        _live(case, AFTER, case.batches_after, (AFTER,)),
    )
    return tuple(panel for panel in found if panel is not None)


def _replay(case: Case) -> Panel | None:
    walks = in_order(_current(batch.records) for batch in case.batches)
    if not walks:
        return None
    rules = case.recorded.opened.rules
    return Panel(
        title="Replay: candidate over stable",
        measure="tokens per verify step",
        records="requests",
        points=series(walks, _walked, LIVE, _budget(rules)),
        at_least=rules.minimum_gain,
        at_least_name="minimumGain",
        marks=_marks(case, (PENDING, REPLAY), case.batches, lambda records: len(_current(records))),
    )


def _current(records: Records) -> tuple[Walk, ...]:
    """Return the walks of what is served now, without those of the genesis set."""
    return tuple(walk for walk in records.walks if not walk.domain)


def _live(
    case: Case, phase: str, batches: Sequence[Batch], decided_in: Sequence[str]
) -> Panel | None:
    comparison = _comparison(case, phase)
    blocks = _counted(in_order(batch.records.blocks for batch in batches), comparison)
    if not blocks:
        return None
    rules = case.recorded.opened.rules
    return Panel(
        title=f"{phase}: {comparison.name}",
        measure="tokens per busy second",
        records="blocks",
        points=series(blocks, lambda some: _ran(some, comparison), SPEED, _budget(rules)),
        at_least=-rules.margin,
        at_least_name="allowed loss",
        marks=_marks(
            case, decided_in, batches, lambda records: len(_counted(records.blocks, comparison))
        ),
    )


def _guards(case: Case) -> GuardPanel | None:
    requests = in_order(batch.records.requests for batch in case.batches)
    if not requests:
        return None
    rules, comparison = case.recorded.opened.rules, _comparison(case, CANARY)
    guards = Guards(rules.tpot, rules.ttft, rules.errors, rules.preemptions)
    seen = {
        count: rises(requests[:count], comparison, guards, alpha=rules.failing)
        for count in looks(len(requests), most=MAX_GUARD_POINTS)
    }
    names = [one.name for one in seen[len(requests)]]
    return GuardPanel(
        title="Guards",
        guards=tuple(
            Guard(
                name,
                tuple(
                    (count, found[index].rise / found[index].limit)
                    for count, found in seen.items()
                    if math.isfinite(found[index].rise)
                ),
            )
            for index, name in enumerate(names)
        ),
        marks=_marks(case, LIVE_PHASES, case.batches, lambda records: len(records.requests)),
    )


def _comparison(case: Case, phase: str) -> LiveComparison:
    recorded = case.recorded
    return live_comparison(recorded.opened, phase=phase, stock_digest=recorded.stock_digest)


def _counted(blocks: Iterable[Block], comparison: LiveComparison) -> tuple[OneBlock, ...]:
    """Return the blocks that count, each with the records of all its batch bands."""
    known: dict[tuple[str, int], OneBlock] = {}
    for record in counted_blocks(comparison.plan, comparison.digests, blocks):
        known[record.engine, record.block] = (
            *known.get((record.engine, record.block), ()),
            record,
        )
    return tuple(known.values())


def _walked(walks: Sequence[Walk]) -> Totals:
    return add_up(walk_clusters(walks, lambda walk: walk.stable_steps))


def _ran(blocks: Sequence[OneBlock], comparison: LiveComparison) -> Totals:
    records = [record for block in blocks for record in block]
    return speed_requirement(records, comparison, margin=0.0).totals


def _budget(rules: Rules) -> Budget:
    return Budget(passing=rules.passing, failing=rules.failing)


def _marks(
    case: Case,
    phases: Sequence[str],
    batches: Sequence[Batch],
    count: Callable[[Records], int],
) -> tuple[Mark, ...]:
    """Return the decisions of some phases, where the records end that they rest on."""
    steps = [
        step
        for step in case.recorded.steps
        if step.phase in phases and step.at > case.recorded.opened.at
    ]
    return tuple(
        Mark(
            num_records=count(united(one.records for one in _known_to(case, step, batches))),
            text=step.what,
            is_bad=step.what in (Outcome.REJECTED, Outcome.ROLLED_BACK),
        )
        for step in steps
    )


def _known_to(case: Case, step: Step, batches: Sequence[Batch]) -> Sequence[Batch]:
    """Return the batches that a decision rests on: as its verdict says, else all before it."""
    for verdict in case.verdicts:
        if step.evidence and verdict.evidence == step.evidence and verdict.phase == step.phase:
            return [batch for batch in batches if batch.name in set(verdict.entries)]
    return [batch for batch in batches if stored_at(batch) <= step.at]
