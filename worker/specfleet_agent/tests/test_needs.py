from __future__ import annotations

import pytest

from specfleet_agent.needs import held, nearest, needed
from specfleet_agent.situation import Files, Serve
from specfleet_agent.tests.builders import answer, digest, holding, page, seen, version, worker
from specfleet_agent.tests.promoting import comparison, walk_orders
from specfleet_common.wire.messages import HeartbeatReply, VersionRef


@pytest.mark.parametrize(
    ("reply", "serve", "trains", "numbers"),
    [
        pytest.param(answer(serve=version(3)), Serve.STABLE, False, [3], id="in-place-of-stable"),
        pytest.param(answer(serve=version(0)), Serve.STABLE, False, [], id="stock-is-here"),
        pytest.param(
            answer(comparison=comparison(trial=3, base=2)), Serve.STABLE, False, [3, 2], id="arms"
        ),
        pytest.param(
            answer(comparison=comparison(trial=3, base=0)),
            Serve.STABLE,
            False,
            [3],
            id="stock",
        ),
        pytest.param(
            answer(serve=version(3), comparison=comparison()),
            Serve.STOCK,
            False,
            [],
            id="a-control-engine-compares-nothing",
        ),
        pytest.param(
            answer(walk=walk_orders(candidate=3, stable=0)),
            Serve.STOCK,
            True,
            [3, 0],
            id="heads-to-walk-even-stock",
        ),
        pytest.param(
            answer(walk=walk_orders()), Serve.STOCK, False, [], id="nobody-walks-without-a-trainer"
        ),
    ],
)
def test_what_a_promotion_needs(
    reply: HeartbeatReply, serve: Serve, trains: bool, numbers: list[int]
) -> None:
    versions = needed(worker(serve=serve, trains=trains), page(), reply)

    assert [version.number for version in versions] == numbers


@pytest.mark.parametrize(
    ("versions", "have"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({2: ""}, None, id="a-damaged-one"),
        pytest.param(holding(0, 2), 2, id="the-last-one"),
        pytest.param(holding(0, 5), 5, id="a-later-one"),
        pytest.param({**holding(0), 2: ""}, 0, id="an-older-one"),
    ],
)
def test_the_version_on_the_volume_that_is_closest_to_a_wanted_one(
    versions: dict[int, str], have: int | None
) -> None:
    expected = None if have is None else VersionRef(have, digest(have), size_bytes=0)
    assert nearest(version(3), Files(versions)) == expected


@pytest.mark.parametrize(
    ("serve", "trains", "versions", "expected"),
    [
        pytest.param(Serve.STABLE, True, holding(1, 3), version(3), id="the-base"),
        pytest.param(Serve.STABLE, False, holding(1, 3), version(1), id="stable"),
        pytest.param(Serve.STABLE, True, {3: "b" * 64}, None, id="corrupt"),
        pytest.param(Serve.STOCK, False, holding(1, 3), None, id="needs-none"),
    ],
)
def test_held(
    serve: Serve, trains: bool, versions: dict[int, str], expected: VersionRef | None
) -> None:
    situation = seen(answer(base=version(3), stable=version(1)), Files(versions=versions))

    assert held(worker(serve=serve, trains=trains), situation) == expected


def test_a_candidate_is_not_what_a_worker_reports_to_hold() -> None:
    reply = answer(base=version(4), stable=version(1), serve=version(3))

    assert held(worker(), seen(reply, Files(holding(3)))) is None
