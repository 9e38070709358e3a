from __future__ import annotations

import math
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from specfleet_aggregator import showing
from specfleet_aggregator.fleet import LineageState, heartbeat
from specfleet_aggregator.metrics import AggregatorMetrics, Figures
from specfleet_aggregator.tests.builders import LINEAGE, beat, policy
from specfleet_common.judge.guards import Guard
from specfleet_common.wire.messages import (
    DeltaReply,
    EffectState,
    FleetState,
    Outcome,
    PromotionState,
    VersionRef,
)

PROMOTION = PromotionState(
    "1-1", 1, "1" * 64, phase="Canary", outcome="", sentence="", started_at=0
)
EFFECT = EffectState("over stable", "tokens per busy second", 0.1, 0.05, 0.2, 9, 9)


class Page:
    """The metrics of one aggregator."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = AggregatorMetrics(self.registry)

    def show(self, state: FleetState, *, version_at: float | None = None, now: float = 0) -> None:
        self.metrics.show([Figures(state, version_at, evidence_records=0)], now=now)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"specfleet_aggregator_{name}", labels)

    def of_lineage(self, name: str, **labels: str) -> float | None:
        return self.value(name, lineage=LINEAGE.id, **labels)


def state(*workers: str) -> FleetState:
    lineage = LineageState(LINEAGE)
    for worker in workers:
        lineage, _ = heartbeat(lineage, beat(worker), policy(), now=0.0)
    return showing.show(lineage, policy(), now=0.0)


def judged(*effects: EffectState, breached_guards: tuple[str, ...] = ()) -> FleetState:
    promotion = replace(PROMOTION, effects=effects, breached_guards=breached_guards)
    return replace(state(), promotions=(promotion,))


def test_a_workers_series_come_and_go_with_it() -> None:
    page = Page()

    page.show(state("one", "two"))
    before = page.value("refused_deltas_total", worker="two")
    page.show(state("one"))

    assert before == 0.0
    assert page.value("refused_deltas_total", worker="one") == 0.0
    assert page.value("refused_deltas_total", worker="two") is None
    assert page.value("left_out_deltas_total", worker="two") is None


def test_a_refused_delta_is_counted_for_its_worker_until_that_is_forgotten() -> None:
    page = Page()
    page.show(state("one"))

    page.metrics.delta("stranger", DeltaReply(Outcome.REFUSED, "NaN"))
    counted = page.value("refused_deltas_total", worker="stranger")
    page.show(state("one"))

    assert counted == 1.0
    assert page.value("deltas_total", outcome="refused") == 1.0
    assert page.value("refused_deltas_total", worker="stranger") is None


@pytest.mark.parametrize("outcome", [Outcome.STALE, Outcome.FOREIGN])
def test_a_delta_of_another_round_or_lineage_is_counted_for_its_worker(outcome: Outcome) -> None:
    page = Page()
    page.show(state("one"))
    before = page.value("misplaced_deltas_total", worker="one", outcome=outcome)

    page.metrics.delta("one", DeltaReply(outcome, "it is late"))
    counted = page.value("misplaced_deltas_total", worker="one", outcome=outcome)
    page.show(state())

    assert (before, counted) == (0.0, 1.0)
    assert page.value("refused_deltas_total", worker="one") is None
    assert page.value("misplaced_deltas_total", worker="one", outcome=outcome) is None


def test_only_what_is_known_and_bounded_of_an_effect_is_shown() -> None:
    page = Page()

    page.show(judged(replace(EFFECT, upper=math.inf)))

    def bound(name: str) -> float | None:
        return page.of_lineage("promotion_effect_ratio", measure=EFFECT.measure, bound=name)

    assert (bound("lower"), bound("estimate"), bound("upper")) == (0.05, 0.1, None)


def test_another_phase_is_judged_by_another_measure() -> None:
    page = Page()
    page.show(judged(replace(EFFECT, measure="tokens per verify step")))

    page.show(judged(EFFECT))

    measures = {
        sample.labels["measure"]
        for family in page.registry.collect()
        for sample in family.samples
        if "measure" in sample.labels
    }
    assert measures == {"tokens per busy second"}


def test_the_guard_that_is_breached_is_told_from_the_others() -> None:
    page = Page()

    page.show(judged(EFFECT, breached_guards=("ttft",)))

    breached = {
        guard: page.of_lineage("promotion_guard_breached", guard=guard.key) for guard in Guard
    }
    assert {guard for guard, value in breached.items() if value} == {Guard.TTFT}
    assert None not in breached.values()


def test_phases_are_there_before_the_first_promotion() -> None:
    page = Page()

    page.show(state())
    before = page.of_lineage("promotion_phase", phase="Canary")
    page.show(judged())

    assert (before, page.of_lineage("promotion_phase", phase="Canary")) == (0.0, 1.0)


def test_versions_and_times_of_the_open_round_are_shown() -> None:
    page = Page()
    version = VersionRef(4, "4" * 64, 1)
    open_round = replace(state(), round=4, base=version, round_seconds=30.2)

    page.show(open_round, version_at=900.0, now=1000.0)

    names = ("round", "version", "stable_version", "version_timestamp_seconds")
    assert [page.of_lineage(name) for name in names] == [4.0, 4.0, 0.0, 900.0]
    assert page.of_lineage("round_opened_timestamp_seconds") == 970.0


@pytest.mark.parametrize(("error", "reachable"), [("", 1.0), ("503: slow down", 0.0)])
def test_the_store_is_reachable_while_it_does_what_it_is_asked(
    error: str, reachable: float
) -> None:
    page = Page()

    page.show(replace(state(), store_error=error))

    assert page.value("store_reachable") == reachable


def test_what_alerts_ask_for_is_there_before_it_happens() -> None:
    page = Page()

    assert page.value("decisions_total", decision="stable_withdrawn") == 0.0
    assert page.value("store_failures_total") == 0.0
    assert page.value("deltas_total", outcome="accepted") == 0.0
    assert page.value("refused_calls_total", reason="expired") == 0.0
    assert page.value("store_reachable") == 1.0
    assert page.value("certificate_expiry_timestamp_seconds") is None
