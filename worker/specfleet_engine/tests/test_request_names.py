import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_engine.request_names import LONGEST, external_id, page_name


@pytest.mark.parametrize(
    ("internal", "external"),
    [
        pytest.param("cmpl-8f1e-0-0a1b2c3d", "cmpl-8f1e-0", id="made-unique"),
        pytest.param("1_chatcmpl-8f1e-0a1b2c3d", "chatcmpl-8f1e", id="one-of-several-answers"),
        pytest.param("cmpl-8f1e-0", "cmpl-8f1e-0", id="as-it-was-given"),
    ],
)
def test_the_id_that_the_api_server_knows(internal: str, external: str) -> None:
    assert external_id(internal) == external


@given(st.text(min_size=1), st.integers(0, 2**32 - 1))
def test_what_makes_an_id_unique_is_taken_away_again(name: str, number: int) -> None:
    assert external_id(f"chat-{name}-{number:08x}") == f"chat-{name}"


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=LONGEST))
def test_ordinary_names_are_left_as_they_are(name: str) -> None:
    assert page_name(name) == name


@given(st.text(), st.text())
def test_names_are_short_and_different(one: str, other: str) -> None:
    assert len(page_name(one)) <= LONGEST
    assert (page_name(one) == page_name(other)) == (one == other)
