"""Whatever comes in becomes a value of ours, or is refused in words that can be shown."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.fuzz.border import Border, refusal
from tools.fuzz.catalog import catalog
from tools.fuzz.found import FOUND, folder
from tools.fuzz.mutating import spoilt

BORDERS = catalog()
every_border = pytest.mark.parametrize("border", BORDERS, ids=lambda border: border.name)


@every_border
def test_good_input_is_taken(border: Border) -> None:
    refused = [refusal(border, seed) for seed in border.seeds]

    assert refused == [None] * len(border.seeds)


def test_borders_have_names_of_their_own() -> None:
    assert len({folder(border) for border in BORDERS}) == len(BORDERS)


@every_border
def test_what_was_found_once_is_refused_by_now(border: Border) -> None:
    for path in sorted((FOUND / folder(border)).glob("*")):
        refusal(border, path.read_bytes())


@every_border
def test_any_bytes_are_taken_or_refused(border: Border) -> None:
    @settings(max_examples=5)
    @given(st.binary(max_size=64))
    def hold(data: bytes) -> None:
        refusal(border, data)

    hold()


@every_border
def test_spoilt_input_is_taken_or_refused(border: Border) -> None:
    # What is drawn is the seed alone: drawing every byte takes longer than reading them.
    @settings(max_examples=30)
    @given(st.integers(0, (1 << 64) - 1))
    def hold(seed: int) -> None:
        refusal(border, spoilt(border, Random(seed)))

    hold()
