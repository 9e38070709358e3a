from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.frontend_page import FrontendPage, decode
from specfleet_agent.requests import WAIT_SECONDS, Joined, Joining, join
from specfleet_agent.tests.builders import STOCK_DIGEST, digest, page
from specfleet_agent.tests.promoting import finished_content, in_force
from specfleet_common.judge.records import Request, union
from specfleet_common.lineage import MISMATCH

RUNNING = in_force(began=100.0)
SINCE = Joining(RUNNING, since=105.0)


def frontend(*requests: Mapping[str, Any]) -> FrontendPage:
    return decode({"requests": list(requests)})


def engine(**digests: tuple[str, ...]) -> EnginePage:
    """Return a page that names who proposed for requests which have ended at 113."""
    named = [{"request": n, "ended": 113.0, "digests": list(d)} for n, d in digests.items()]
    return page(requests=tuple(named))


def test_a_record_joins_what_both_pages_know() -> None:
    _, joined = join(
        SINCE,
        RUNNING,
        frontend(finished_content("a", started=112.0)),
        engine(a=(digest(3), "stock")),
        now=113.2,
    )

    record = Request(
        request="a",
        engine="worker-1",
        started=12.0,
        digests=tuple(sorted((digest(3), STOCK_DIGEST))),
        failed=False,
        ttft_seconds=0.1,
        tpot_seconds=0.02,
        preemptions=0,
    )
    assert joined == Joined((record,), num_unknown=0)


def test_a_request_is_recorded_once() -> None:
    told, named = frontend(finished_content("a", started=112.0)), engine(a=(digest(3),))
    after, _ = join(SINCE, RUNNING, told, named, now=113.2)

    _, again = join(after, RUNNING, told, named, now=113.5)

    assert again == Joined()


@pytest.mark.parametrize(
    ("started", "recorded"),
    [
        pytest.param(104.9, 0, id="before-the-agent-saw-the-comparison"),
        pytest.param(105.0, 1, id="after"),
    ],
)
def test_only_requests_that_began_under_the_comparison_count(started: float, recorded: int) -> None:
    _, joined = join(
        SINCE,
        RUNNING,
        frontend(finished_content("a", started=started)),
        engine(a=(digest(3),)),
        now=113.2,
    )

    assert len(joined.requests) == recorded


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(Joining(), id="the-agent-has-just-started"),
        pytest.param(Joining(in_force(began=98.0), since=98.0), id="there-is-another-anchor"),
    ],
)
def test_what_began_before_counts_for_nothing(before: Joining) -> None:
    after, joined = join(
        before,
        RUNNING,
        frontend(finished_content("a", started=112.0)),
        engine(a=(digest(3),)),
        now=113.2,
    )

    assert (after.since, joined) == (113.2, Joined())


def test_without_a_comparison_everything_is_forgotten() -> None:
    told = frontend(finished_content("a", started=112.0))

    assert join(SINCE, None, told, engine(), now=113.2) == (Joining(), Joined())


@pytest.mark.parametrize(
    ("failed", "now", "digests", "unknown"),
    [
        pytest.param(False, 113.0 + WAIT_SECONDS, None, 0, id="it-may-still-be-named"),
        pytest.param(False, 113.1 + WAIT_SECONDS, None, 1, id="nobody-knows"),
        pytest.param(True, 113.0 + WAIT_SECONDS, None, 0, id="a-failed-one-may-be-named-too"),
        pytest.param(True, 113.1 + WAIT_SECONDS, (), 0, id="it-failed-before-any-proposed"),
    ],
)
def test_a_request_that_the_engine_does_not_name(
    failed: bool, now: float, digests: tuple[str, ...] | None, unknown: int
) -> None:
    told = frontend(finished_content("a", started=112.0, failed=failed))

    _, joined = join(SINCE, RUNNING, told, engine(), now=now)

    expected = [] if digests is None else [digests]
    assert [one.digests for one in joined.requests] == expected
    assert joined.num_unknown == unknown


def test_what_an_engine_served_that_holds_other_weights_belongs_to_no_arm() -> None:
    told = frontend(finished_content("a", started=112.0))
    named = {"request": "a", "ended": 113.0, "digests": [digest(3)]}

    _, joined = join(SINCE, RUNNING, told, page(observed=MISMATCH, requests=(named,)), now=113.2)

    assert [one.digests for one in joined.requests] == [tuple(sorted((digest(3), MISMATCH)))]


def test_an_earlier_request_of_the_same_name_is_another() -> None:
    told = frontend(finished_content("a", started=113.5))

    _, joined = join(SINCE, RUNNING, told, engine(a=(digest(3),)), now=114.6)

    assert joined == Joined()


def test_a_request_without_a_name_is_left_out() -> None:
    told = frontend(finished_content("", started=112.0))

    assert join(SINCE, RUNNING, told, engine(), now=999.0)[1] == Joined()


@dataclass
class Server:
    """Both halves of an engine; each page keeps the newest few."""

    finished: list[dict[str, Any]] = field(default_factory=list)
    named: list[dict[str, Any]] = field(default_factory=list)
    shown: tuple[FrontendPage, EnginePage] = field(default_factory=lambda: (frontend(), engine()))

    def write_frontend(self) -> None:
        self.shown = (frontend(*self.finished[-8:]), self.shown[1])

    def write_engine(self) -> None:
        self.shown = (self.shown[0], page(requests=tuple(self.named[-8:])))


@given(
    st.lists(
        st.sampled_from(
            ["finish", "fail", "name", "frontend", "engine", "look", "agent", "lease", "restart"]
        ),
        max_size=80,
    )
)
def test_every_record_is_true_and_none_comes_twice(events: list[str]) -> None:
    server, state, now = Server(), Joining(), 100.0
    sent: list[Request] = []
    unnamed: list[dict[str, Any]] = []
    truth: dict[str, tuple[float, tuple[str, ...], bool]] = {}
    for number, event in enumerate(events):
        now += 0.2
        match event:
            case "finish" | "fail":
                name, drafter = f"request-{number}", digest(2 + number % 2)
                told = finished_content(name, started=now - 0.15, ended=now, failed=event == "fail")
                server.finished.append(told)
                unnamed.append({"request": name, "ended": now, "digests": [drafter]})
                truth[name] = (now - 0.15, (drafter,), event == "fail")
            case "name":
                server.named += unnamed
                unnamed = []
            case "frontend":
                server.write_frontend()
            case "engine":
                server.write_engine()
            case "agent":
                state = Joining()
            case "lease":
                state, _ = join(state, None, *server.shown, now=now)
            case "restart":
                server, unnamed = Server(), []
            case "look":
                state, joined = join(state, RUNNING, *server.shown, now=now)
                sent += joined.requests

    assert union(sent) == tuple(sorted(sent, key=lambda one: one.key))
    for record in sent:
        started, drafters, failed = truth[record.request]
        assert record.started == started - RUNNING.began
        assert record.failed is failed
        assert record.digests == drafters or (failed and record.digests == ())
