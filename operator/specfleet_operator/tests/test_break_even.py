"""Whether speculation pays, as far as engines have told."""

from __future__ import annotations

import pytest

from specfleet_common.wire.messages import Speculation, WorkerState
from specfleet_operator.aggregation import Aggregation, aggregation
from specfleet_operator.break_even import speculation_pays
from specfleet_operator.conditions import Verdict
from specfleet_operator.tests.aggregator_states import state, worker
from specfleet_operator.tests.building import NOW, silent, view

PAYS = Verdict("True", "AboveBreakEven", "Drafts bring more than drafting costs.")
BELOW = Verdict("False", "BelowBreakEven", "")


def engine(name: str, *, length: float, break_even: float = 2.0) -> WorkerState:
    return worker(name, speculation=Speculation(length, break_even, 1000))


def heard(*workers: WorkerState) -> Aggregation:
    return aggregation(view(state(*workers)), NOW)


def test_an_engine_below_break_even_is_named_with_what_it_would_need() -> None:
    learning = heard(engine("a", length=1.5), engine("b", length=1.25), engine("c", length=2.5))

    found = speculation_pays((), learning, before=PAYS)

    assert found == Verdict(
        "False",
        "BelowBreakEven",
        "a, b would be faster without speculation: b puts out 1.2 tokens per verification step,"
        " and break-even is at 2.0.",
    )


@pytest.mark.parametrize(
    ("length", "before", "pays"),
    [
        pytest.param(2.1, PAYS, True, id="above"),
        pytest.param(1.95, PAYS, True, id="a-little-below"),
        pytest.param(1.89, PAYS, False, id="clearly-below"),
        pytest.param(1.89, None, False, id="clearly-below-at-first"),
        pytest.param(1.95, BELOW, False, id="not-back-yet"),
        pytest.param(2.05, BELOW, True, id="back"),
    ],
)
def test_what_is_near_break_even_stays_what_it_was(
    length: float, before: Verdict | None, pays: bool
) -> None:
    found = speculation_pays((), heard(engine("a", length=length)), before=before)

    assert found is not None
    assert (found.status == "True") == pays


def test_without_measurements_there_is_no_condition() -> None:
    assert speculation_pays((), heard(worker("a")), before=PAYS) is None


def test_of_a_silent_aggregator_nothing_is_known() -> None:
    learning = aggregation(silent(seconds=300.0), NOW)

    told = speculation_pays((), learning, before=PAYS)

    assert told is not None
    assert told.status == "Unknown"
    assert speculation_pays((), learning, before=None) is None
