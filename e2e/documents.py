"""The texts of the examples, split into documents that are sent and documents that never are."""

from __future__ import annotations

from collections.abc import Sequence

from e2e.engines import ROOT
from specfleet_cli.traffic.prompts import Document, read_documents

LANGUAGES = {"hi": "Hindi", "en": "English", "py": "Python", "ja": "Japanese"}
UNSEEN_EVERY = 10
"""The stock head was not trained on these documents either, see tools/tiny_model."""


def documents(language: str) -> tuple[Document, ...]:
    """Return all documents of one of LANGUAGES."""
    return read_documents(ROOT / f"examples/text/{language}.jsonl")


def unseen(language: str) -> tuple[Document, ...]:
    """Return every tenth document: measured, never sent to an engine that trains."""
    return documents(language)[::UNSEEN_EVERY]


def seen(language: str) -> tuple[Document, ...]:
    """Return the documents that traffic is made of."""
    numbered = enumerate(documents(language))
    return tuple(document for number, document in numbered if number % UNSEEN_EVERY)


def beginnings(chosen: Sequence[Document]) -> list[str]:
    """Return the first half of each document, as prompts."""
    return [document.text[: len(document.text) // 2] for document in chosen]
