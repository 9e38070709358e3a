"""Compares what engines answered to the same prompts with the answers of one of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from specfleet_cli.traffic.prompts import Prompt

_CONTEXT = 3
MAX_BEHIND = 10_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine generated; token ids are empty when its API does not tell them."""

    text: str
    token_ids: tuple[int, ...]
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an engine's answer first departs from the reference."""

    engine: str
    prompt_number: int
    document: str
    prompt: str
    position: int
    unit: str
    """What `position` counts: "token" or "character"."""
    reference: str
    answer: str


def difference(
    engine: str, prompt: Prompt, *, reference: Answer, answer: Answer
) -> Difference | None:
    """Return the first difference, None when the answers are equal."""
    by_token = bool(reference.token_ids) and bool(answer.token_ids)
    expected: Sequence[int] | str = reference.token_ids if by_token else reference.text
    actual: Sequence[int] | str = answer.token_ids if by_token else answer.text
    if expected == actual:
        return None
    pairs = enumerate(zip(expected, actual, strict=False))
    position = next((at for at, (one, other) in pairs if one != other), None)
    if position is None:
        position = min(len(expected), len(actual))
    return Difference(
        engine=engine,
        prompt_number=prompt.number,
        document=prompt.document,
        prompt=prompt.text,
        position=position,
        unit="token" if by_token else "character",
        reference=str(expected[position : position + _CONTEXT]),
        answer=str(actual[position : position + _CONTEXT]),
    )


@dataclass
class Comparison:
    """Pairs answers in whatever order they come.

    What all engines have answered, or is MAX_BEHIND prompts behind the newest, is forgotten.
    """

    reference: str
    num_others: int
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    _references: dict[int, Answer] = field(default_factory=dict)
    _waiting: dict[int, dict[str, tuple[Prompt, Answer]]] = field(default_factory=dict)
    _num_compared: Counter[int] = field(default_factory=Counter)
    """How many engines were compared, by the numbers in `_references`."""
    _oldest: int = 0

    @property
    def num_pending(self) -> int:
        """Return how many prompts wait for the answer of some engine."""
        return len(self._references.keys() | self._waiting.keys())

    def add(self, engine: str, prompt: Prompt, answer: Answer) -> None:
        """Take one answer; every engine answers every prompt at most once."""
        self._forget_until(prompt.number - MAX_BEHIND)
        if prompt.number < self._oldest:
            return
        if engine != self.reference:
            self._waiting.setdefault(prompt.number, {})[engine] = (prompt, answer)
        else:
            self._references[prompt.number] = answer
        if prompt.number in self._references:
            self._compare(prompt.number)

    def _compare(self, number: int) -> None:
        """Compare what waits with the reference's answer to the same prompt."""
        for engine, (prompt, answer) in self._waiting.pop(number, {}).items():
            self._num_compared[number] += 1
            self.compared[engine] = self.compared.get(engine, 0) + 1
            reference = self._references[number]
            found = difference(engine, prompt, reference=reference, answer=answer)
            if found is not None:
                self.differences.setdefault(engine, []).append(found)
        if self._num_compared[number] == self.num_others:
            self._forget(number)

    def _forget_until(self, number: int) -> None:
        for old in range(self._oldest, number):
            self._forget(old)
        self._oldest = max(self._oldest, number)

    def _forget(self, number: int) -> None:
        self._references.pop(number, None)
        self._waiting.pop(number, None)
        self._num_compared.pop(number, None)
