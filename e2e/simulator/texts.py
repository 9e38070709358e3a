"""Prompts as tokens, and the one answer that every engine gives to a prompt.

A token is a character; those outside ASCII share half of the tokens. Answers are words chosen by
a hash of the prompt: the same on every engine and under every drafter, as a target's own are.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

FIRST_TOKEN = 16
"""Ids below are special in the vocabularies of real models."""
LAST_TOKEN = FIRST_TOKEN + 255

_WORDS = (
    *("a", "and", "answer", "before", "draft", "each", "engine", "for", "from", "head", "in", "is"),
    *("it", "learns", "model", "next", "of", "on", "one", "round", "that", "the", "then", "this"),
    *("to", "token", "verify", "version", "was", "weights", "will", "with"),
)
_GOLDEN_RATIO = (5**0.5 - 1) / 2
_SHORTEST, _LONGEST = 24, 223
"""How many tokens an answer has before its end, at least and at most."""


def tokens_of(text: str) -> tuple[int, ...]:
    """Return the tokens of a text."""
    return tuple(
        FIRST_TOKEN + (point if point < 128 else 128 + point % 128) for point in map(ord, text)
    )


def text_of(tokens: Sequence[int]) -> str:
    """Return the text of an answer's tokens, which are ASCII; the stop token has none."""
    return "".join(chr(t - FIRST_TOKEN) for t in tokens if FIRST_TOKEN <= t < FIRST_TOKEN + 128)


class Answer:
    """The tokens that follow a prompt: text, the stop token where it ends, and text again.

    What follows the stop is what a drafter proposes beyond it; None as stop token has no end.
    """

    def __init__(self, prompt: Sequence[int], *, stop_token: int | None) -> None:
        content = struct.pack(f"<{len(prompt)}q", *prompt)
        self._seed = hashlib.blake2b(content, digest_size=16).digest()
        self._tokens: list[int] = []
        self._words = 0
        self._stop_token = stop_token
        self._end = _SHORTEST + self.number(0, "end") % (_LONGEST - _SHORTEST + 1)

    def tokens(self, begin: int, end: int) -> list[int]:
        """Return the tokens at some places; the first is at 0."""
        while len(self._tokens) < end:
            word = _WORDS[self.number(self._words, "word") % len(_WORDS)]
            self._tokens += tokens_of(f" {word}")
            self._words += 1
        chosen = self._tokens[begin:end]
        if self._stop_token is not None and begin <= self._end < end:
            chosen[self._end - begin] = self._stop_token
        return chosen

    def number(self, place: int, what: str) -> int:
        """Return 64 bits made of the prompt, a place in its answer, and what they are for."""
        content = f"{place} {what}".encode()
        return int.from_bytes(hashlib.blake2b(content, key=self._seed, digest_size=8).digest())

    def accepted(self, draft: int, rates: Sequence[float], drafter: str) -> int:
        """Return how many tokens of a drafter's n-th draft are right, given the true shares.

        Steps of the golden ratio are spread evenly, so that a short measurement finds the shares.
        """
        share = (self.number(0, drafter) / 2.0**64 + draft * _GOLDEN_RATIO) % 1.0
        return sum(share < rate for rate in rates)
