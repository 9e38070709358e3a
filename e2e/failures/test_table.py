"""The page about failures has a row for every failure, and names only tests that there are."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/failures.md"
TESTS = re.compile(r"`([\w/.]+\.py)::(test_\w+)`")
CASES = {
    "trainer killed",
    "trainer over its memory",
    "trainer reports nothing",
    "trainer stands still for a minute",
    "trainer crashes again and again",
    "agent killed",
    "engine killed",
    "node lost",
    "worker joins without any state",
    "aggregator killed in mid-round",
    "second aggregator on the same store",
    "aggregator has no address",
    "aggregator refuses connections",
    "something else answers 503 in its place",
    "token wrong, expired or of another fleet",
    "clocks jump by minutes",
    "clocks jump by days",
    "store down",
    "store slow",
    "store full",
    "wrong credentials",
    "version truncated or changed",
    "manifest truncated or changed",
    "ledger entry truncated or changed",
    "version damaged on its way to a worker",
    "delta with NaN",
    "delta of another shape",
    "delta a thousand times too long",
    "delta of another lineage",
    "delta handed in again",
    "delta late, for a closed round",
    "shared memory too small",
    "plugin and agent one version apart",
    "bank torn, truncated or of another lineage",
    "target changes",
    "candidate is worse",
    "operator down, restarted, or there twice",
    "leading operator frozen",
    "bad manifest",
}
"""What a fleet has to survive; the page may have more."""


def rows() -> dict[str, list[str]]:
    """Return the cells of every row by the failure that it is about."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first: rest for first, *rest in cells if first not in ("failure", "---")}


def named() -> set[tuple[str, str]]:
    """Return every test on the page: its file, and its name."""
    return set(TESTS.findall(PAGE.read_text("utf-8")))


@cache
def names_in(file: Path) -> frozenset[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse(file.read_text("utf-8"))
    functions = [
        one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return frozenset(one.name for one in functions if one.name.startswith("test_"))


def test_every_failure_has_a_row() -> None:
    assert CASES - set(rows()) == set()


@pytest.mark.parametrize("failure", sorted(rows()))
def test_a_row_says_everything_and_names_tests(failure: str) -> None:
    cells = rows()[failure]

    assert [bool(cell) for cell in cells] == [True] * 4
    assert TESTS.search(cells[-1])


def test_every_test_that_is_named_exists() -> None:
    lost = [one for one in sorted(named()) if one[1] not in names_in(ROOT / one[0])]

    assert lost == []


def test_every_failure_that_is_tested_here_is_on_the_page() -> None:
    here = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    tested = {(str(one.relative_to(ROOT)), name) for one in here for name in names_in(one)}

    assert tested - named() == set()
