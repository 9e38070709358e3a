"""Answers are compared with the reference's, in whatever order they come."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from specfleet_cli.traffic.comparison import MAX_BEHIND, Answer, Comparison, difference
from specfleet_cli.traffic.prompts import Prompt

PROMPT = Prompt(number=7, document="hi-0001", text="a b")


def answer(*tokens: int, text: str = "") -> Answer:
    """Return an answer."""
    return Answer(text=text, token_ids=tokens, num_tokens=len(tokens))


def test_equal_tokens_are_no_difference() -> None:
    assert difference("e", PROMPT, reference=answer(1, 2), answer=answer(1, 2)) is None


def test_the_first_different_token_is_named() -> None:
    found = difference("e", PROMPT, reference=answer(1, 2, 3, 4), answer=answer(1, 2, 9, 4))

    assert found is not None
    assert (found.position, found.unit) == (2, "token")
    assert (found.reference, found.answer) == ("(3, 4)", "(9, 4)")


def test_a_shorter_answer_differs_where_it_ends() -> None:
    found = difference("e", PROMPT, reference=answer(1, 2), answer=answer(1))

    assert found is not None
    assert found.position == 1


def test_texts_are_compared_when_an_engine_tells_no_tokens() -> None:
    found = difference("e", PROMPT, reference=answer(text="same"), answer=answer(1, text="sane"))

    assert found is not None
    assert (found.position, found.unit) == (2, "character")


@pytest.mark.parametrize("order", list(itertools.permutations(("control", "good", "bad"))))
def test_the_order_of_answers_does_not_matter(order: tuple[str, ...]) -> None:
    answers = {"control": answer(1), "good": answer(1), "bad": answer(2)}
    comparison = Comparison("control", num_others=2)

    for engine in order:
        comparison.add(engine, PROMPT, answers[engine])

    assert comparison.compared == {"good": 1, "bad": 1}
    assert list(comparison.differences) == ["bad"]
    assert comparison.num_pending == 0


def test_what_the_reference_did_not_answer_is_not_compared() -> None:
    comparison = Comparison("control", num_others=1)

    comparison.add("other", PROMPT, answer(1))

    assert comparison.compared == {}


@pytest.mark.parametrize("engine", ["control", "other"])
def test_answers_that_wait_in_vain_are_forgotten(engine: str) -> None:
    comparison = Comparison("control", num_others=1)

    for number in range(MAX_BEHIND + 5):
        comparison.add(engine, replace(PROMPT, number=number), answer(1))

    assert comparison.num_pending == MAX_BEHIND + 1


def test_an_answer_to_a_forgotten_prompt_is_not_compared() -> None:
    comparison = Comparison("control", num_others=1)
    for number in (0, MAX_BEHIND + 1):
        comparison.add("control", replace(PROMPT, number=number), answer(1))

    comparison.add("other", replace(PROMPT, number=0), answer(2))

    assert (comparison.compared, comparison.num_pending) == ({}, 1)
