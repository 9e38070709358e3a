"""A border: where bytes of somebody else become a value of ours, or are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST_REFUSAL = 8_000
"""Letters. A refusal is shown in a status, a log line or the details of a call: gRPC takes 8 KiB
of them at least."""


@dataclass(frozen=True, slots=True)
class Border:
    """One decoder. `take` may raise what `refuses` names, and nothing else."""

    name: str
    take: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]
    """Good input, to be spoilt."""
    is_json: bool = False
    """Whether spoiling the values of a JSON document, and not only its bytes, makes sense."""


class BadRefusal(AssertionError):
    """A refusal that nobody can show: too long, or not encodable."""


def refusal(border: Border, data: bytes) -> str | None:
    """Return the words in which the border refuses the bytes, None when it takes them."""
    try:
        border.take(data)
    except border.refuses as error:
        words = str(error)
        _require_showable(words)
        return words
    return None


def _require_showable(words: str) -> None:
    if not 0 < len(words) <= LONGEST_REFUSAL:
        raise BadRefusal(
            f"the refusal has {len(words)} letters, expected 1 to {LONGEST_REFUSAL}: {words[:200]}"
        )
    try:
        words.encode()
    except UnicodeEncodeError as error:
        raise BadRefusal(f"the refusal is not UTF-8: {words[:200]!a}") from error
