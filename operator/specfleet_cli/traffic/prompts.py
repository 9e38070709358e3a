"""Prompts: beginnings of documents, the same for the same seed and number. No engine is involved.

They start where the document starts, because that is where its conversation key comes from.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SMALLEST_SHARE, LARGEST_SHARE = 0.4, 0.7
SHORTEST, LONGEST = 60, 220


class PromptsError(ValueError):
    """The file of documents cannot be used; the message names file and line."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text to cut prompts from."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The beginning of a document."""

    number: int
    document: str
    text: str


def read_documents(path: Path) -> tuple[Document, ...]:
    """Return the documents of a JSONL file with `id` and `text` in every line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptsError(f"{path}: cannot be read: {error}") from error
    documents = tuple(_document(path, number, line) for number, line in enumerate(lines, start=1))
    if not documents:
        raise PromptsError(f"{path}: is empty, expected one JSON object per line")
    return documents


def prompt(documents: Sequence[Document], *, seed: int, number: int) -> Prompt:
    """Return the prompt with this number: a document's beginning of 60 to 220 characters."""
    choice = random.Random(f"{seed}/{number}")
    document = choice.choice(documents)
    share = choice.uniform(SMALLEST_SHARE, LARGEST_SHARE)
    length = min(max(round(share * len(document.text)), SHORTEST), LONGEST)
    return Prompt(number=number, document=document.id, text=document.text[:length])


def _document(path: Path, number: int, line: str) -> Document:
    try:
        fields = json.loads(line)
        document = Document(id=fields["id"], text=fields["text"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PromptsError(
            f"{path}, line {number}: is {line[:80]!r}, expected a JSON object with id and text"
        ) from error
    if not isinstance(document.text, str) or not document.text:
        raise PromptsError(f"{path}, line {number}: text is empty, expected some")
    return document
