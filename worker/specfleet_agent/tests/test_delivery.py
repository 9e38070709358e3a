from __future__ import annotations

from dataclasses import replace

import pytest

from specfleet_agent.delivery import Wanted, Weights, is_due, wanted
from specfleet_agent.situation import Files, Serve, Situation
from specfleet_agent.tests.builders import (
    OTHER_LINEAGE,
    STOCK_DIGEST,
    answer,
    digest,
    holding,
    orders,
    page,
    report,
    seen,
    version,
    worker,
)
from specfleet_common.wire.messages import HeartbeatReply

NOW = 100.0
"""When the replies of these tests were asked for."""
LOCAL_DIGEST = "c" * 64
STOCK = Weights("stock", STOCK_DIGEST, "stock.safetensors")
LOCAL = Weights("local", LOCAL_DIGEST, "local.safetensors")
TRAINED = Files(versions=holding(3), orders=orders(), report=report(local_digest=LOCAL_DIGEST))


def global_(number: int) -> Weights:
    return Weights("version", digest(number), f"version-{number}.safetensors")


@pytest.mark.parametrize("serve", list(Serve))
def test_without_an_engine_the_bank_is_left_alone(serve: Serve) -> None:
    want = wanted(worker(serve=serve), Situation(), now=NOW)

    assert want == Wanted(None, "there is no engine yet")


def test_a_control_engine_serves_stock_whatever_the_aggregator_says() -> None:
    situation = seen(answer(base=version(3), stable=version(2)), TRAINED)

    assert wanted(worker(serve=Serve.STOCK), situation, now=NOW).weights == STOCK


@pytest.mark.parametrize(
    ("reply", "files", "weights"),
    [
        pytest.param(answer(stable=version(2)), Files(versions=holding(2)), global_(2), id="here"),
        pytest.param(answer(stable=version(0)), Files(), STOCK, id="version-0-is-stock"),
        pytest.param(answer(stable=version(2)), Files(), None, id="not-here-yet"),
        pytest.param(answer(stable=version(2)), Files(versions={2: ""}), None, id="corrupt"),
        pytest.param(answer(base=version(3)), Files(versions=holding(3)), None, id="no-stable-yet"),
        pytest.param(None, Files(versions=holding(2)), None, id="no-answer-since-the-restart"),
    ],
)
def test_stable(reply: HeartbeatReply | None, files: Files, weights: Weights | None) -> None:
    assert wanted(worker(serve=Serve.STABLE), seen(reply, files), now=NOW).weights == weights


def test_a_stable_engine_never_serves_local_weights() -> None:
    situation = seen(answer(base=version(3), stable=version(0)), TRAINED)

    assert wanted(worker(serve=Serve.STABLE), situation, now=NOW).weights == STOCK


@pytest.mark.parametrize(
    ("reply", "files", "weights"),
    [
        pytest.param(answer(base=version(3)), TRAINED, LOCAL, id="local-is-newest"),
        pytest.param(
            answer(base=version(3)),
            Files(versions=holding(3), orders=orders(), report=report()),
            global_(3),
            id="nothing-trained-yet",
        ),
        pytest.param(
            answer(round_=4, base=version(4)),
            Files(versions=holding(3, 4), orders=orders(), report=TRAINED.report),
            global_(4),
            id="a-new-global-resets-local",
        ),
        pytest.param(
            answer(round_=4, base=version(4)),
            Files(versions=holding(4), orders=orders(round_=4, number=4), report=TRAINED.report),
            global_(4),
            id="the-trainer-has-not-followed-yet",
        ),
        pytest.param(
            answer(round_=4, base=version(4)), TRAINED, None, id="the-new-global-is-not-here-yet"
        ),
        pytest.param(None, TRAINED, LOCAL, id="local-stays-without-an-aggregator"),
        pytest.param(
            None,
            Files(versions=holding(3), orders=orders(), report=report()),
            global_(3),
            id="so-does-its-base",
        ),
        pytest.param(
            answer(base=version(0)),
            Files(orders=orders(number=0), report=report(number=0)),
            STOCK,
            id="version-0-is-stock",
        ),
        pytest.param(
            answer(base=version(3)),
            Files(
                versions=holding(3),
                orders=orders(),
                report=report(local_digest=LOCAL_DIGEST, lineage=OTHER_LINEAGE),
            ),
            global_(3),
            id="trained-for-another-target",
        ),
        pytest.param(
            answer(base=version(3)),
            replace(TRAINED, orders=replace(orders(), attempt=1)),
            global_(3),
            id="its-delta-was-refused",
        ),
        pytest.param(None, Files(), None, id="nothing-known"),
        pytest.param(
            None,
            Files(versions=holding(3), orders=orders(lineage=OTHER_LINEAGE)),
            None,
            id="orders-for-another-target",
        ),
    ],
)
def test_local(reply: HeartbeatReply | None, files: Files, weights: Weights | None) -> None:
    assert wanted(worker(serve=Serve.LOCAL), seen(reply, files), now=NOW).weights == weights


def test_weights_for_another_target_are_never_wanted() -> None:
    situation = seen(
        answer(base=version(3), stable=version(3)), TRAINED, engine=page(lineage=OTHER_LINEAGE)
    )

    want = [
        wanted(worker(serve=serve), situation, now=NOW).weights
        for serve in (Serve.STABLE, Serve.LOCAL)
    ]

    assert want == [None, None]


@pytest.mark.parametrize(
    ("weights", "observed", "bank_digest", "due"),
    [
        pytest.param(STOCK, "stock", None, False, id="an-empty-bank-is-stock"),
        pytest.param(STOCK, "local", None, True, id="back-to-stock-after-the-bank-vanished"),
        pytest.param(global_(2), "stock", None, True, id="first-version"),
        pytest.param(global_(2), "stock", digest(2), False, id="the-engine-will-find-it"),
        pytest.param(global_(2), "stock", digest(1), True, id="newer"),
        pytest.param(STOCK, "stock", digest(1), True, id="withdrawn-before-it-was-applied"),
        pytest.param(global_(2), "stock", "", True, id="nobody-knows-what-is-in-it"),
    ],
)
def test_is_due(weights: Weights, observed: str, bank_digest: str | None, due: bool) -> None:
    assert is_due(weights, page(observed=observed), bank_digest=bank_digest) is due
