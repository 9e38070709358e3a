from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.situation import Anchor, Files, Serve, Situation
from specfleet_agent.switchback import Running, anchored, running
from specfleet_agent.tests.builders import (
    LINEAGE,
    OTHER_LINEAGE,
    answer,
    digest,
    holding,
    page,
    seen,
    version,
    worker,
)
from specfleet_agent.tests.promoting import comparison

HERE = Files(versions=holding(2, 3))


def asked_for(*, elapsed_seconds: float = 0.0) -> Running:
    """Return a comparison that was asked for at 100."""
    reply = answer(comparison=comparison(elapsed_seconds=elapsed_seconds))
    found = running(worker(), seen(reply, HERE), now=100.0)
    assert found is not None
    return found


def test_a_comparison_counts_from_when_it_began_by_the_agents_clock() -> None:
    found = asked_for(elapsed_seconds=25.0)

    assert (found.began, found.block(100.0), found.seconds_to_border(100.0)) == (75.0, 2, 5.0)
    assert (found.begins_at(2), found.settles_at(2)) == (95.0, 97.0)


def test_arms_are_those_that_everybody_computes() -> None:
    found, plan = asked_for(), comparison().plan

    arms = [found.arm(block) for block in range(8)]
    digests = [found.version(block).digest for block in range(8)]

    assert arms == [plan.arm("worker-1", block) for block in range(8)]
    assert digests == [digest(3 if arm == "Trial" else 2) for arm in arms]
    assert len(set(arms[:2])) == 2


COMPARED = seen(answer(comparison=comparison()), HERE)


@pytest.mark.parametrize(
    ("situation", "serve"),
    [
        pytest.param(seen(answer(), HERE), Serve.STABLE, id="not-named"),
        pytest.param(seen(None, HERE), Serve.STABLE, id="no-answer"),
        pytest.param(replace(COMPARED, page=None), Serve.STABLE, id="no-engine"),
        pytest.param(COMPARED, Serve.STOCK, id="a-control-engine"),
        pytest.param(COMPARED, Serve.LOCAL, id="a-local-engine"),
        pytest.param(
            replace(COMPARED, files=Files(holding(2))), Serve.STABLE, id="trial-is-not-here"
        ),
        pytest.param(
            replace(COMPARED, files=Files(holding(3))), Serve.STABLE, id="base-is-not-here"
        ),
        pytest.param(
            replace(COMPARED, page=page(lineage=OTHER_LINEAGE)), Serve.STABLE, id="another-target"
        ),
    ],
)
def test_a_comparison_is_not_in_force(situation: Situation, serve: Serve) -> None:
    assert running(worker(serve=serve), situation, now=100.0) is None


@pytest.mark.parametrize(("now", "in_force"), [(160.0, True), (160.1, False)])
def test_a_comparison_ends_with_the_lease(now: float, in_force: bool) -> None:
    assert (running(worker(), COMPARED, now=now) is not None) is in_force


def test_stock_as_an_arm_lies_beside_the_engine() -> None:
    situation = seen(answer(comparison=comparison(trial=3, base=0)), Files(holding(3)))

    found = running(worker(), situation, now=100.0)

    assert found is not None and found.base == version(0)


def test_an_undisturbed_comparison_stays_equal_from_answer_to_answer() -> None:
    first, anchor = COMPARED, Anchor("3-candidate", 100.0)
    later = replace(comparison(), elapsed_seconds=1.2)
    reply = seen(answer(comparison=later), HERE, asked_at=101.0).reply
    assert reply is not None
    second = replace(first, reply=replace(reply, anchor=anchor))

    found = [running(worker(), situation, now=101.0) for situation in (first, second)]

    assert found[0] == found[1]
    assert found[0] is not None and found[0].lineage_id == LINEAGE.id


def test_without_a_comparison_there_is_no_anchor() -> None:
    before = Anchor("3-candidate", 5.0)

    assert anchored(before, None, asked_at=1.0, answered_at=2.0) is None


@pytest.mark.parametrize(
    ("before", "elapsed_seconds", "began"),
    [
        pytest.param(None, 30.0, 71.0, id="the-first"),
        pytest.param(Anchor("3-candidate", 71.4), 30.0, 71.4, id="stays"),
        pytest.param(Anchor("3-candidate", 72.9), 30.0, 72.9, id="stays-while-answers-are-slow"),
        pytest.param(Anchor("3-candidate", 73.1), 30.0, 71.0, id="off-by-more-than-a-second"),
        pytest.param(Anchor("3-candidate", 68.9), 30.0, 71.0, id="off-the-other-way"),
        pytest.param(Anchor("2-candidate", 71.4), 30.0, 71.0, id="of-another-comparison"),
    ],
)
def test_an_anchor(before: Anchor | None, elapsed_seconds: float, began: float) -> None:
    told = comparison(elapsed_seconds=elapsed_seconds)

    anchor = anchored(before, told, asked_at=100.0, answered_at=102.0)

    assert anchor == Anchor("3-candidate", began)


@given(
    began=st.floats(0, 1e5),
    answers=st.lists(
        st.tuples(st.floats(0, 1e4), st.floats(0, 1.9), st.floats(0, 1)), min_size=1, max_size=20
    ),
)
def test_an_anchor_never_moves_while_the_clocks_agree(
    began: float, answers: list[tuple[float, float, float]]
) -> None:
    anchors, anchor = set(), None
    for since, takes, made_after in answers:
        asked_at = began + since
        told = comparison(elapsed_seconds=since + takes * made_after)
        anchor = anchored(anchor, told, asked_at=asked_at, answered_at=asked_at + takes)
        anchors.add(anchor)

    assert len(anchors) == 1
