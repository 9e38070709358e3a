"""Prompts are beginnings of documents, the same for the same seed and number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_cli.traffic.prompts import Document, PromptsError, prompt, read_documents

DOCUMENTS = tuple(
    Document(id=str(length), text=f"{length} " + "x" * length) for length in (80, 150, 300, 900)
)


@given(st.integers(), st.integers(0, 10_000))
def test_a_prompt_is_the_beginning_of_its_document(seed: int, number: int) -> None:
    chosen = prompt(DOCUMENTS, seed=seed, number=number)

    text = next(document.text for document in DOCUMENTS if document.id == chosen.document)
    assert text.startswith(chosen.text)
    assert 60 <= len(chosen.text) <= 220
    assert chosen.text != text
    assert chosen == prompt(DOCUMENTS, seed=seed, number=number)


def test_numbers_and_seeds_give_different_prompts() -> None:
    texts = {prompt(DOCUMENTS, seed=s, number=n).text for s in range(3) for n in range(30)}

    assert len(texts) > 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param('{"id": "a", "text": "b"}\n{"id": "a"}\n', "line 2", id="no-text"),
        pytest.param("[]\n", "line 1", id="not-an-object"),
        pytest.param('{"id": "a", "text": ""}\n', "text is empty", id="empty-text"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(PromptsError) as caught:
        read_documents(path)

    assert str(path) in str(caught.value)
    assert message in str(caught.value)
