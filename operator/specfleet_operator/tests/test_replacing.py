"""Which engine is replaced next."""

from __future__ import annotations

from typing import Any

from specfleet_operator.pods import Pod
from specfleet_operator.replacing import next_pods
from specfleet_operator.tests.building import pod as any_pod


def pod(name: str, revision: str = "old", **changes: Any) -> Pod:
    """Return an engine's pod that is outdated."""
    return any_pod(name, revision=revision, **changes)


def chosen(*pods: Pod, a: int = 2, b: int = 0) -> tuple[str, ...]:
    """Return what goes while the cohorts `a` and `b` should be of the revision `new`."""
    return next_pods(pods, revisions={"a": "new", "b": "new"}, replicas={"a": a, "b": b})


def test_one_outdated_engine_goes_the_last_first() -> None:
    assert chosen(pod("a-0"), pod("a-1")) == ("a-1",)


def test_only_one_of_all_cohorts_goes() -> None:
    assert chosen(pod("a-0"), pod("a-1"), pod("b-0"), b=1) == ("a-1",)


def test_none_goes_when_all_are_as_they_should_be() -> None:
    assert chosen(pod("a-0", "new"), pod("a-1", "new")) == ()


def test_none_goes_while_another_is_starting() -> None:
    assert chosen(pod("a-0"), pod("a-1", "new", ready=False)) == ()


def test_none_goes_while_another_is_missing() -> None:
    assert chosen(pod("a-0")) == ()


def test_none_goes_while_another_cohort_misses_one() -> None:
    assert chosen(pod("a-0"), pod("a-1"), b=1) == ()


def test_none_goes_while_another_is_on_its_way_out() -> None:
    going = pod("a-1", "new", ready=False, terminating=True)

    assert chosen(pod("a-0"), going) == ()
    assert chosen(pod("a-0", ready=False), going) == ()


def test_broken_ones_go_first_and_wait_for_nobody() -> None:
    assert chosen(pod("a-0", ready=False), pod("a-1"), a=3) == ("a-0",)


def test_a_working_one_stays_while_a_broken_one_is_of_the_new_template() -> None:
    assert chosen(pod("a-0"), pod("a-1", "new", ready=False)) == ()


def test_pods_that_scaling_down_takes_are_not_replaced_and_not_waited_for() -> None:
    leaving = pod("a-2", terminating=True, ready=False)

    assert chosen(pod("a-0", "new"), pod("a-1"), leaving) == ("a-1",)


def test_a_cohort_waits_until_its_statefulset_makes_new_pods() -> None:
    pods = [pod("a-0")]

    assert next_pods(pods, revisions={}, replicas={"a": 1}) == ()
