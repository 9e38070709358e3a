"""Every kind of bad input is refused, and so that somebody can read why."""

from __future__ import annotations

import pytest

from tools.bad_input.case import Case, words
from tools.bad_input.page import sections

CASES = [
    pytest.param(case, id=f"{section.title}: {case.what}")
    for section in sections()
    for case in section.cases
]


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_in_words_that_fit_anywhere(case: Case) -> None:
    said = words(case)

    assert 0 < len(said.encode()) < 2000
    assert "Traceback" not in said and "object at 0x" not in said


def test_nothing_is_twice_in_a_section() -> None:
    for section in sections():
        kinds = [case.what for case in section.cases]

        assert len(kinds) == len(set(kinds))
