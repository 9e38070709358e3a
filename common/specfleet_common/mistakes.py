"""Says what is wrong with a document that pydantic refused: field, value, expectation; briefly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

MOST_SENTENCES = 10
_LONGEST_VALUE = 80
_LONGEST_EXPECTATION = 400


def summary(error: ValidationError) -> str:
    """Return one line that names the first mistakes and says how many more there are."""
    return "; ".join(shortened(map(sentence, error.errors(include_url=False))))


def shortened(sentences: Iterable[str]) -> list[str]:
    """Return the first sentences, and how many more there are in place of the rest."""
    known = list(sentences)
    more = len(known) - MOST_SENTENCES
    return known if more <= 0 else [*known[:MOST_SENTENCES], f"and {more} mistakes more"]


def sentence(mistake: Any) -> str:
    """Return what is wrong, of one entry of pydantic's `errors`."""
    field = dotted(mistake["loc"]) or "document"
    if mistake["type"] == "missing":
        return f"{field}: is missing, expected a value"
    if mistake["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{field}: unknown field"
    if mistake["type"] == "value_error":
        return f"{field}: {_shown_text(str(mistake['ctx']['error']), _LONGEST_EXPECTATION)}"
    if mistake["type"] == "json_invalid":
        return f"{field}: is not JSON: {_shown_text(str(mistake['ctx']['error']), 200)}"
    return f"{field}: is {shown(mistake['input'])}, {expectation(mistake)}"


def expectation(mistake: Any) -> str:
    """Return what was expected in place of a value."""
    words = (
        str(mistake["msg"])
        .replace("Input should be", "expected")
        .replace("String should", "expected text to")
    )
    return _shown_text(words, _LONGEST_EXPECTATION)


def dotted(location: Sequence[str | int]) -> str:
    """Return where a value stands, as one would write it: `spec.cohorts[0].name`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{_shown_text(part, _LONGEST_VALUE)}"
    return path.removeprefix(".")


def shown(value: object) -> str:
    """Return a value as it may be written, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        # A number of thousands of digits, or a document that is thousands of levels deep.
        text = f"a very long {type(value).__name__}"
    return _shown_text(text, _LONGEST_VALUE)


def _shown_text(text: str, longest: int) -> str:
    # Half a character of UTF-16, which JSON can name, cannot be printed.
    text = text[: longest + 1].encode(errors="backslashreplace").decode()
    return text if len(text) <= longest else f"{text[:longest]}…"
