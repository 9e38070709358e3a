"""An engine of several ranks runs a version when all of them say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specfleet_agent.engine_page import EnginePage, PageError, decode
from specfleet_agent.other_ranks import PATIENCE_SECONDS, OtherRanks
from specfleet_agent.ranks import Rank, difference, joined, rank
from specfleet_agent.ranks import decode as decode_rank
from specfleet_agent.tests.builders import STOCK_DIGEST, digest, page_content
from specfleet_common.lineage import MISMATCH
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageWriter

NEW = digest(1)
ENGINE = {"engine": "tcp://127.0.0.1:9", "num_ranks": 2, "mismatches": 0}


def content(observed: str = STOCK_DIGEST, **changes: Any) -> dict[str, Any]:
    """Return the page of a rank of an engine with two."""
    return page_content(observed=observed, observed_digest=observed) | ENGINE | changes


FIRST = decode(content(NEW))


@pytest.mark.parametrize(
    ("other", "is_lasting", "observed"),
    [
        pytest.param(Rank(NEW), True, NEW, id="the-same"),
        pytest.param(Rank(STOCK_DIGEST), False, "", id="another-for-a-moment"),
        pytest.param(Rank(STOCK_DIGEST), True, MISMATCH, id="another-for-long"),
        pytest.param(Rank(MISMATCH), False, MISMATCH, id="not-what-was-applied"),
        pytest.param(Rank(NEW, problem="silent"), False, "", id="not-known-for-a-moment"),
        pytest.param(Rank(NEW, problem="silent"), True, "", id="not-known-for-long"),
    ],
)
def test_what_the_engine_runs(other: Rank, is_lasting: bool, observed: str) -> None:
    page = joined(FIRST, {1: other}, is_lasting=is_lasting)

    assert (page.observed, page.observed_digest) == (observed, observed)


def test_an_engine_with_a_rank_that_is_not_known_for_long_is_not_adapted() -> None:
    page = joined(FIRST, {1: Rank(problem="it is silent")}, is_lasting=True)

    assert (page.adapting, page.reason) == (False, "rank 1: it is silent")


def test_the_rank_that_differs_is_named() -> None:
    others = {1: Rank(NEW), 2: Rank(STOCK_DIGEST)}

    expected = f"rank 2 runs {STOCK_DIGEST[:8]}, expected {NEW[:8]} as in rank 0"
    assert difference(FIRST, others) == expected


def test_mismatches_of_all_ranks_count() -> None:
    page = joined(FIRST, {1: Rank(NEW, mismatches=2), 2: Rank(NEW, mismatches=1)}, is_lasting=False)

    assert page.mismatches == 3


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({}, "", id="good"),
        pytest.param({"engine": "tcp://127.0.0.1:8"}, "is of another engine", id="of-another"),
        pytest.param(
            {"adapting": False, "reason": "OSError: disk"},
            "it no longer adapts: OSError: disk",
            id="stopped",
        ),
    ],
)
def test_why_a_rank_is_not_known(changes: dict[str, Any], problem: str) -> None:
    found = rank(decode_rank(content(NEW, **changes)), FIRST)

    assert problem in found.problem
    assert bool(found.problem) == bool(problem)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        pytest.param({"adapting": False, "reason": "no \ud800"}, r"no \\ud800", id="not-adapted"),
        pytest.param({"beats": "x"}, "not one of this version", id="another-content"),
    ],
)
def test_a_page_that_says_nothing_is_refused(payload: dict[str, Any], words: str) -> None:
    with pytest.raises(PageError, match=words):
        decode_rank(payload)


class Watched:
    """An engine with two ranks, looked at again and again."""

    def __init__(self, shared: Path) -> None:
        self.second = PageWriter.create(shared / page_file(1))
        self._ranks = OtherRanks(shared, silence_seconds=10)

    def look(self, now: float, first: EnginePage = FIRST) -> EnginePage:
        return self._ranks.joined(first, now=now)


def test_ranks_that_go_on_to_differ_are_a_mismatch_that_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Watched(tmp_path)
    engine.second.write(content(STOCK_DIGEST))

    looks = [engine.look(now) for now in (0.0, PATIENCE_SECONDS + 0.1, PATIENCE_SECONDS + 0.2)]
    engine.second.write(content(NEW, beats=2))
    after = engine.look(PATIENCE_SECONDS + 0.3)

    assert [page.observed for page in (*looks, after)] == ["", MISMATCH, MISMATCH, NEW]
    assert [page.mismatches for page in (*looks, after)] == [0, 1, 1, 1]
    assert capsys.readouterr().out.count("ranks_differ") == 1


def test_a_rank_whose_page_stays_the_same_is_not_known(tmp_path: Path) -> None:
    engine = Watched(tmp_path)
    engine.second.write(content(NEW))

    looks = [engine.look(now) for now in (0.0, 10.1, 10.2 + PATIENCE_SECONDS)]

    assert [page.observed for page in looks] == [NEW, "", ""]
    assert looks[-1].reason == "rank 1: it has been silent for 10 s"


def test_a_rank_without_a_page_is_not_known(tmp_path: Path) -> None:
    ranks = OtherRanks(tmp_path, silence_seconds=10)

    page = ranks.joined(FIRST, now=0.0)

    assert (page.observed, page.adapting) == ("", True)


def test_an_engine_of_one_rank_speaks_for_itself(tmp_path: Path) -> None:
    alone = decode(content(NEW, num_ranks=1))

    assert OtherRanks(tmp_path, silence_seconds=10).joined(alone, now=0.0) is alone
