"""What is wrong with a document is said briefly, and in letters that can be shown."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter, ValidationError

from specfleet_common.mistakes import MOST_SENTENCES, summary


@dataclass(frozen=True, slots=True)
class Thing:
    """A document of a test."""

    name: str
    counts: tuple[int, ...] = ()


def said(text: str) -> str:
    with pytest.raises(ValidationError) as refusal:
        TypeAdapter(Thing).validate_json(text)
    return summary(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{}", "name: is missing, expected a value", id="missing"),
        pytest.param('{"name": 1}', "name: is 1, expected a valid string", id="type"),
        pytest.param('{"name": "a", "counts": [1, "x"]}', 'counts[1]: is "x", expected', id="item"),
        pytest.param("{", "document: is not JSON: EOF", id="no-json"),
        pytest.param("[]", "document: is [], expected an object", id="no-object"),
    ],
)
def test_field_value_and_expectation_are_named(text: str, words: str) -> None:
    assert words in said(text)


def test_thousands_of_mistakes_are_counted_not_told() -> None:
    words = said('{"name": "a", "counts": [' + ", ".join(['"x"'] * 3000) + "]}")

    assert words.endswith(f"; and {3000 - MOST_SENTENCES} mistakes more")
    assert len(words) < 2000


def test_a_long_value_is_shortened() -> None:
    words = said('{"name": ["' + "x" * 10_000 + '"]}')

    assert len(words) < 200
