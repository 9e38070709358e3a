"""From effects to a verdict: all requirements must be met, and harm in any of them is enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specfleet_common.judge.confidence import ConfidenceSequence
from specfleet_common.judge.power import more, needed_growth
from specfleet_common.judge.totals import Totals
from specfleet_common.judge.verdicts import Effect, Outcome, Reason, ReasonCode, Verdict, percent


@dataclass(frozen=True, slots=True)
class Budget:
    """How often a judgement may be wrong, over all its looks."""

    passing: float
    """For passing what is not good enough: in a promotion, its part of the lineage's budget."""
    failing: float
    """For calling something harmful, or not better, that is neither."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One effect and what is required of it."""

    name: str
    """What is compared: `candidate over stable`."""
    measure: str
    """What the effect is a gain in: `tokens per verify step`."""
    records: str
    """What its records are: `requests`."""
    clusters: str
    """What its clusters are: `conversations`."""
    totals: Totals
    num_records: int
    num_clusters: int
    sequence: ConfidenceSequence
    at_least: float
    """Met once the effect is surely above this, missed once it is surely below."""
    harm: float
    """The effect is harm once it is surely below this."""

    def effect(self, budget: Budget) -> Effect:
        """Return the effect with its bounds."""
        return Effect(
            name=self.name,
            measure=self.measure,
            gain=float(self.totals.gain),
            lower=float(self.sequence.lower(self.totals, budget.passing)),
            lower_alpha=budget.passing,
            upper=float(self.sequence.upper(self.totals, budget.failing)),
            upper_alpha=budget.failing,
            num_records=self.num_records,
            num_clusters=self.num_clusters,
            effective_clusters=float(self.totals.effective_clusters),
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    requirement: Requirement
    effect: Effect

    def reason(self, code: ReasonCode, value: float, limit: float) -> Reason:
        return Reason(code=code, subject=self.requirement.name, value=value, limit=limit)

    @property
    def measured(self) -> str:
        one, found = self.requirement, self.effect
        return f"{one.name} {percent(found.gain)} {one.measure}"

    @property
    def amount(self) -> str:
        one = self.requirement
        return f"{one.num_records} {one.records} of {one.num_clusters} {one.clusters}"


def decide(
    requirements: Sequence[Requirement],
    budget: Budget,
    *,
    consistent: Sequence[Sequence[Effect]] = (),
) -> Verdict:
    """Say what the evidence shows so far. What is surely harmful needs no other evidence.

    In each group of `consistent`, no effect may surely be a gain while another surely is a loss.
    """
    judged = [_Judged(one, one.effect(budget)) for one in requirements]
    for group in consistent:
        if verdict := _contradictory(group, judged):
            return verdict
    for find in (_harmful, _without_data, _with_too_little, _not_better, _undecided):
        if verdict := find(judged, budget):
            return verdict
    return _passed(judged)


def _contradictory(group: Sequence[Effect], judged: list[_Judged]) -> Verdict | None:
    gains = [one for one in group if one.lower > 0]
    losses = [one for one in group if one.upper < 0]
    if not gains or not losses:
        return None
    best, worst = gains[0], losses[0]
    return Verdict(
        Outcome.CONTRADICTORY_ARMS,
        f"Contradictory: {best.name} is surely a gain in {best.measure} (at least "
        f"{percent(best.lower)}), and {worst.name} surely a loss in {worst.measure} (at most "
        f"{percent(worst.upper)}).",
        (
            Reason(ReasonCode.SURELY_ABOVE, best.name, best.lower, 0.0),
            Reason(ReasonCode.SURELY_BELOW, worst.name, worst.upper, 0.0),
        ),
        (*(one.effect for one in judged), *group),
    )


def _harmful(judged: list[_Judged], _: Budget) -> Verdict | None:
    reasons = [
        one.reason(ReasonCode.SURELY_BELOW, one.effect.upper, one.requirement.harm)
        for one in judged
        if one.effect.upper < one.requirement.harm
    ]
    if not reasons:
        return None
    worst = next(one for one in judged if one.requirement.name == reasons[0].subject)
    return _verdict(
        Outcome.HARMFUL,
        f"Harmful: {worst.measured}, surely below {percent(worst.requirement.harm)} "
        f"(at most {percent(worst.effect.upper)}), in {worst.amount}.",
        reasons,
        judged,
    )


def _without_data(judged: list[_Judged], _: Budget) -> Verdict | None:
    missing = [one for one in judged if not one.requirement.totals.weight > 0]
    if not missing:
        return None
    return _verdict(
        Outcome.NO_DATA,
        f"No data: there are no {missing[0].requirement.records} yet for "
        f"{', '.join(one.requirement.name for one in missing)}.",
        [one.reason(ReasonCode.NO_RECORDS, 0.0, _minimum(one)) for one in missing],
        judged,
    )


def _with_too_little(judged: list[_Judged], _: Budget) -> Verdict | None:
    few = [one for one in judged if one.effect.effective_clusters < _minimum(one)]
    if not few:
        return None
    first, growths = few[0], [_minimum(one) / one.effect.effective_clusters for one in few]
    needed = max(
        more(one.requirement.num_records, growth) for one, growth in zip(few, growths, strict=True)
    )
    return _verdict(
        Outcome.TOO_LITTLE_TRAFFIC,
        f"Too little traffic: {first.amount} for {first.requirement.name} weigh like "
        f"{first.effect.effective_clusters:.0f} equal {first.requirement.clusters}, needed are "
        f"{_minimum(first):.0f}; about {needed} more {first.requirement.records}.",
        [
            one.reason(ReasonCode.TOO_FEW_CLUSTERS, one.effect.effective_clusters, _minimum(one))
            for one in few
        ],
        judged,
        needed,
    )


def _not_better(judged: list[_Judged], _: Budget) -> Verdict | None:
    missed = [one for one in judged if one.effect.upper < one.requirement.at_least]
    if not missed:
        return None
    first = missed[0]
    return _verdict(
        Outcome.NOT_BETTER,
        f"Not better: {first.measured}, surely below the required "
        f"{percent(first.requirement.at_least)} (at most {percent(first.effect.upper)}), "
        f"in {first.amount}.",
        [
            one.reason(ReasonCode.SURELY_BELOW, one.effect.upper, one.requirement.at_least)
            for one in missed
        ],
        judged,
    )


def _undecided(judged: list[_Judged], budget: Budget) -> Verdict | None:
    open_ = [one for one in judged if not one.effect.lower > one.requirement.at_least]
    if not open_:
        return None
    needs = [_more_records(one.requirement, budget) for one in open_]
    known = [need for need in needs if need is not None]
    needed = max(known) if len(known) == len(needs) else None
    first = open_[needs.index(needed)]
    forecast = (
        "how much more traffic a decision needs cannot be foreseen"
        if needed is None
        else f"needs about {needed} more {first.requirement.records}"
    )
    return _verdict(
        Outcome.UNDECIDED,
        f"Undecided: {first.measured} ({percent(first.effect.lower)} to "
        f"{percent(first.effect.upper)}) in {first.amount}, required is surely above "
        f"{percent(first.requirement.at_least)}; {forecast}.",
        [
            one.reason(ReasonCode.NOT_SURELY_ABOVE, one.effect.lower, one.requirement.at_least)
            for one in open_
        ],
        judged,
        needed,
    )


def _passed(judged: list[_Judged]) -> Verdict:
    first = judged[0]
    return _verdict(
        Outcome.PASSED,
        f"Passed: {first.measured}, surely above {percent(first.requirement.at_least)} "
        f"(at least {percent(first.effect.lower)}), in {first.amount}.",
        [
            one.reason(ReasonCode.SURELY_ABOVE, one.effect.lower, one.requirement.at_least)
            for one in judged
        ],
        judged,
    )


def _verdict(
    outcome: Outcome,
    sentence: str,
    reasons: Iterable[Reason],
    judged: list[_Judged],
    needed: int | None = None,
) -> Verdict:
    return Verdict(outcome, sentence, tuple(reasons), tuple(one.effect for one in judged), needed)


def _minimum(judged: _Judged) -> float:
    return judged.requirement.sequence.minimum_clusters


def _more_records(requirement: Requirement, budget: Budget) -> int | None:
    growth = needed_growth(
        requirement.sequence,
        requirement.totals,
        gain=requirement.at_least,
        above_alpha=budget.passing,
        below_alpha=budget.failing,
    )
    return None if growth is None else more(requirement.num_records, growth)
