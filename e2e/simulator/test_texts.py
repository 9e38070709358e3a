"""Answers are a function of the prompt, and drafts are right as often as they should be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from e2e.simulator.requests import WRONG, Request
from e2e.simulator.texts import FIRST_TOKEN, LAST_TOKEN, Answer, text_of, tokens_of

STOP = 0
prompts = st.text(min_size=1, max_size=50).map(tokens_of)


@given(st.text(st.characters(max_codepoint=127)))
def test_an_ascii_text_is_its_tokens(text: str) -> None:
    assert text_of(tokens_of(text)) == text


@given(st.text())
def test_every_character_is_one_token_of_a_small_vocabulary(text: str) -> None:
    tokens = tokens_of(text)

    assert len(tokens) == len(text)
    assert all(FIRST_TOKEN <= token <= LAST_TOKEN for token in tokens)


@given(prompts, st.integers(0, 300), st.integers(0, 300))
def test_parts_of_an_answer_fit_together(prompt: tuple[int, ...], cut: int, more: int) -> None:
    whole = Answer(prompt, stop_token=STOP).tokens(0, cut + more)

    answer = Answer(prompt, stop_token=STOP)

    assert answer.tokens(cut, cut + more) == whole[cut:]
    assert answer.tokens(0, cut) == whole[:cut]


@given(prompts)
def test_an_answer_stops_once_and_never_drafts_wrong_by_itself(prompt: tuple[int, ...]) -> None:
    tokens = Answer(prompt, stop_token=STOP).tokens(0, 400)

    assert tokens.count(STOP) == 1
    assert WRONG not in tokens


def test_other_prompts_have_other_answers() -> None:
    answers = {tuple(Answer(tokens_of(f"p{n}"), stop_token=None).tokens(0, 40)) for n in range(50)}

    assert len(answers) == 50


@pytest.mark.parametrize("rates", [(0.8, 0.5, 0.1), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0)])
def test_drafts_are_accepted_at_the_true_rates(rates: tuple[float, ...]) -> None:
    answer = Answer(tokens_of("a prompt"), stop_token=None)

    accepted = [answer.accepted(draft, rates, "stock") for draft in range(200)]

    for position, rate in enumerate(rates):
        share = sum(number > position for number in accepted) / len(accepted)
        assert share == pytest.approx(rate, abs=0.02)


def request(*, max_tokens: int, stop_token: int | None = STOP) -> Request:
    prompt = tokens_of("What is it?")
    return Request(
        "0", "0", prompt, Answer(prompt, stop_token=stop_token), max_tokens, stop_token, 0.0
    )


@given(st.integers(1, 300), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_drafters_change_the_steps_and_never_the_answer(
    max_tokens: int, drawn: list[float]
) -> None:
    one = request(max_tokens=max_tokens)
    rates = sorted(drawn, reverse=True)
    put_out: list[int] = []

    while one.finish_reason is None:
        put_out += one.advance().tokens
        one.draft(3, rates, "some")

    whole = one.answer.tokens(0, len(put_out))
    assert put_out == whole
    assert one.finish_reason == ("stop" if whole[-1] == STOP else "length")
    assert len(put_out) == max_tokens or one.finish_reason == "stop"


def test_rows_are_the_prompt_and_then_what_was_verified() -> None:
    one = request(max_tokens=100, stop_token=None)

    prefill = one.rows()
    one.advance()
    draft = one.draft(3, (1.0, 1.0, 0.0), "some")
    verified = one.rows()

    answer = one.answer.tokens(0, 4)
    assert prefill == (0, list(one.prompt))
    assert verified == (len(one.prompt), answer[:3])
    assert draft == [*answer[1:3], WRONG]
    assert one.next_token() == answer[3]
