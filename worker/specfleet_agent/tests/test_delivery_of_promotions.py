"""What is served in place of stable, and when an agent goes back to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.delivery import Weights, wanted
from specfleet_agent.situation import Files, LastStable, Serve
from specfleet_agent.tests.builders import (
    OTHER_LINEAGE,
    STOCK_DIGEST,
    answer,
    digest,
    holding,
    seen,
    version,
    worker,
)
from specfleet_agent.tests.promoting import comparison, last_stable
from specfleet_common.judge.switchback import Arm
from specfleet_common.wire.messages import Comparison, HeartbeatReply, VersionRef

STOCK = Weights("stock", STOCK_DIGEST, "stock.safetensors")
HERE = Files(versions=holding(1, 2, 3))
ASKED_AT = 100.0
"""Leases of these tests last a minute."""


def global_(number: int) -> Weights:
    return Weights("version", digest(number), f"version-{number}.safetensors")


def block_of(arm: Arm) -> int:
    """Return the first block in which the engine runs an arm."""
    plan = comparison().plan
    return next(block for block in range(2) if plan.arm("worker-1", block) is arm)


@pytest.mark.parametrize(
    ("reply", "files", "weights"),
    [
        pytest.param(
            answer(stable=version(1), serve=version(3)), HERE, global_(3), id="in-place-of-stable"
        ),
        pytest.param(
            answer(stable=version(1), serve=version(3)),
            Files(holding(1)),
            global_(1),
            id="stable-until-it-is-here",
        ),
        pytest.param(answer(stable=version(1), serve=version(0)), HERE, STOCK, id="stock"),
        pytest.param(answer(serve=version(3)), HERE, global_(3), id="before-there-is-a-stable"),
    ],
)
def test_an_assigned_version(reply: HeartbeatReply, files: Files, weights: Weights) -> None:
    assert wanted(worker(), seen(reply, files), now=ASKED_AT).weights == weights


@pytest.mark.parametrize(
    ("arm", "weights"),
    [pytest.param(Arm.TRIAL, global_(3), id="trial"), pytest.param(Arm.BASE, STOCK, id="base")],
)
def test_a_comparison_goes_before_an_assigned_version(arm: Arm, weights: Weights) -> None:
    told = comparison(trial=3, base=0, elapsed_seconds=10.0 * block_of(arm) + 3.0)
    reply = answer(stable=version(1), serve=version(2), comparison=told)

    want = wanted(worker(), seen(reply, HERE), now=ASKED_AT)

    assert want.weights == weights
    assert want.reason.startswith(f"in block {block_of(arm)} the {arm.lower()} version is ")


def test_the_arm_changes_at_the_end_of_a_block_without_another_answer() -> None:
    situation = seen(answer(stable=version(1), comparison=comparison()), HERE)

    served = [
        wanted(worker(), situation, now=ASKED_AT + seconds).weights for seconds in (9.99, 10.0)
    ]

    arms = [comparison().plan.arm("worker-1", block) for block in (0, 1)]
    assert served == [global_(3 if arm is Arm.TRIAL else 2) for arm in arms]


def test_arms_are_not_served_before_both_are_here() -> None:
    reply = answer(stable=version(1), comparison=comparison(trial=3, base=2))

    want = wanted(worker(), seen(reply, Files(holding(1, 3))), now=ASKED_AT)

    assert want.weights == global_(1)


@pytest.mark.parametrize("serve", [Serve.STOCK, Serve.LOCAL])
def test_only_engines_that_serve_stable_take_part(serve: Serve) -> None:
    reply = answer(
        base=version(1), stable=version(1), serve=version(3), comparison=comparison(trial=3, base=2)
    )

    want = wanted(worker(serve=serve), seen(reply, HERE), now=ASKED_AT)

    assert want.weights == (STOCK if serve is Serve.STOCK else global_(1))


@pytest.mark.parametrize(
    ("now", "weights"),
    [
        pytest.param(ASKED_AT + 60.0, global_(3), id="the-lease-lasts"),
        pytest.param(ASKED_AT + 60.1, global_(1), id="the-lease-has-ended"),
    ],
)
def test_without_its_lease_an_agent_goes_back_to_stable(now: float, weights: Weights) -> None:
    situation = seen(answer(stable=version(1), serve=version(3)), HERE)

    assert wanted(worker(), situation, now=now).weights == weights


@pytest.mark.parametrize(
    ("noted", "now", "weights"),
    [
        pytest.param(last_stable(1), 160.0, None, id="the-aggregator-may-still-answer"),
        pytest.param(last_stable(1), 160.1, global_(1), id="a-lease-after-the-start"),
        pytest.param(last_stable(0), 160.1, STOCK, id="which-is-stock"),
        pytest.param(last_stable(4), 160.1, None, id="which-is-gone"),
        pytest.param(last_stable(1, lineage=OTHER_LINEAGE), 1e9, None, id="of-another-target"),
        pytest.param(None, 1e9, None, id="none-was-noted"),
    ],
)
def test_after_a_start_without_an_answer(
    noted: LastStable | None, now: float, weights: Weights | None
) -> None:
    files = Files(versions=holding(1, 2, 3), stable=noted)

    want = wanted(worker(), seen(None, files, started_at=100.0), now=now)

    assert want.weights == weights


numbers = st.integers(0, 4)


@given(
    stable=st.none() | numbers.map(version),
    serve=st.none() | numbers.map(version),
    compared=st.none()
    | st.builds(comparison, trial=numbers, base=numbers, elapsed_seconds=st.floats(0, 1e5)),
    on_volume=st.dictionaries(numbers, numbers.map(digest)),
    late=st.floats(60.1, 1e6),
)
def test_beyond_its_lease_an_agent_serves_stable_or_leaves_the_bank_alone(
    stable: VersionRef | None,
    serve: VersionRef | None,
    compared: Comparison | None,
    on_volume: dict[int, str],
    late: float,
) -> None:
    reply = answer(stable=stable, serve=serve, comparison=compared)

    want = wanted(worker(), seen(reply, Files(on_volume)), now=ASKED_AT + late)

    assert want.weights is None or (stable is not None and want.weights.digest == stable.digest)
