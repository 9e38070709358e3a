import asyncio
import itertools
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Written
from specfleet_agent.tests.builders import page_content, start_engine
from specfleet_agent.volume import Volume
from specfleet_common.shm.pages import PageWriter


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def observer(tmp_path: Path, clock: Clock) -> Observer:
    return Observer(Volume(tmp_path, tmp_path), engine_silence_seconds=10, clock=clock)


def look(observer: Observer) -> EnginePage | None:
    return asyncio.run(observer.look()).page


def test_there_is_no_engine_before_it_has_written_its_page(observer: Observer) -> None:
    assert look(observer) is None


def test_an_engine_whose_page_stays_the_same_counts_as_gone(
    observer: Observer, clock: Clock, tmp_path: Path
) -> None:
    start_engine(tmp_path)
    at_first = look(observer)

    clock.now = 10.1
    later = look(observer)

    assert at_first is not None
    assert later is None


def test_an_engine_that_beats_stays(observer: Observer, clock: Clock, tmp_path: Path) -> None:
    engine = start_engine(tmp_path)
    look(observer)

    clock.now = 9.0
    engine.write(page_content() | {"beats": 2})
    look(observer)
    clock.now = 18.0

    assert look(observer) is not None


def test_a_restarted_engine_is_back_at_once(
    observer: Observer, clock: Clock, tmp_path: Path
) -> None:
    start_engine(tmp_path)
    look(observer)
    clock.now = 60.0
    gone = look(observer)

    engine = start_engine(tmp_path)
    engine.write(page_content() | {"incarnation": "fedcba9876543210"})

    assert gone is None
    assert look(observer) is not None


def test_a_page_was_written_between_the_look_before_and_the_one_that_finds_it(
    observer: Observer, clock: Clock, tmp_path: Path
) -> None:
    engine = start_engine(tmp_path)
    clock.now = 5.0
    at_first = asyncio.run(observer.look()).page_written
    clock.now = 5.25
    asyncio.run(observer.look())
    engine.write(page_content() | {"beats": 2})
    clock.now = 5.5

    found = [asyncio.run(observer.look()).page_written]
    clock.now = 5.75
    found.append(asyncio.run(observer.look()).page_written)

    assert at_first == Written(after=-math.inf, by=5.0)
    assert found == [Written(after=5.25, by=5.5)] * 2


def test_a_page_may_have_been_written_while_the_look_before_went_on(tmp_path: Path) -> None:
    ticks = itertools.count()
    observer = Observer(
        Volume(tmp_path, tmp_path), engine_silence_seconds=1e9, clock=lambda: float(next(ticks))
    )
    engine = start_engine(tmp_path)
    began = float(next(ticks)) + 1.0
    asyncio.run(observer.look())
    engine.write(page_content() | {"beats": 2})

    written = asyncio.run(observer.look()).page_written

    assert written is not None
    assert (written.after, written.by) == (began, began + 3.0)


def test_the_page_of_an_engine_that_starts_again_was_written_since_the_last_look(
    observer: Observer, clock: Clock, tmp_path: Path
) -> None:
    clock.now = 5.0
    start_engine(tmp_path)
    asyncio.run(observer.look())
    engine = start_engine(tmp_path)
    engine.write(page_content() | {"incarnation": "fedcba9876543210"})
    clock.now = 6.0

    assert asyncio.run(observer.look()).page_written == Written(after=5.0, by=6.0)


def test_the_situation_says_when_the_agent_started(observer: Observer, clock: Clock) -> None:
    clock.now = 7.0

    assert asyncio.run(observer.look()).started_at == 0.0


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        pytest.param("MissingHook: no drafter", "MissingHook: no drafter", id="it-does"),
        pytest.param("", "it does not say why", id="in-no-word"),
        pytest.param("\udc80", r"\udc80", id="in-no-text"),
    ],
)
def test_an_engine_that_cannot_be_adapted_says_why(
    observer: Observer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reason: str,
    told: str,
) -> None:
    page = PageWriter.create(tmp_path / "rank-0.page")
    page.write({"adapting": False, "reason": reason})

    seen = asyncio.run(observer.look())

    assert (seen.page, seen.engine_problem) == (None, told)
    assert told in capsys.readouterr().out


def test_an_engine_runs_what_all_its_ranks_run(observer: Observer, tmp_path: Path) -> None:
    engine, second = start_engine(tmp_path), PageWriter.create(tmp_path / "rank-1.page")
    content = page_content() | {"engine": "e", "num_ranks": 2, "mismatches": 0}
    engine.write(content)
    second.write(content | {"observed": "9" * 64, "observed_digest": "9" * 64})
    apart = look(observer)
    second.write(content | {"beats": 2})
    together = look(observer)

    assert apart is not None and apart.observed == ""
    assert together is not None and together.runs_stock


def test_an_engine_that_has_stopped_adapting_stays_and_says_why_once(
    observer: Observer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = start_engine(tmp_path)
    engine.write(page_content() | {"adapting": False, "reason": "OSError: disk full"})

    looks = [asyncio.run(observer.look()) for _ in range(2)]

    assert [seen.page is not None and seen.page.adapting for seen in looks] == [False, False]
    assert None not in [seen.page for seen in looks]
    assert [seen.engine_problem for seen in looks] == ["OSError: disk full"] * 2
    problem = "the engine no longer adapts: OSError: disk full"
    assert capsys.readouterr().out.count(problem) == 1
