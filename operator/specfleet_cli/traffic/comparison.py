"""Compares what engines answered to the same prompts with the answers of one of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specfleet_cli.traffic.prompts import Prompt

_CONTEXT = 3


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
    """Pairs answers in whatever order they come; keeps those of the reference."""

    reference: str
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    _references: dict[int, Answer] = field(default_factory=dict)
    _waiting: dict[int, dict[str, tuple[Prompt, Answer]]] = field(default_factory=dict)

    def add(self, engine: str, prompt: Prompt, answer: Answer) -> None:
        """Take one answer; every engine answers every prompt at most once."""
        if engine == self.reference:
            self._references[prompt.number] = answer
            for other, (asked, given) in self._waiting.pop(prompt.number, {}).items():
                self._compare(other, asked, given)
        elif prompt.number in self._references:
            self._compare(engine, prompt, answer)
        else:
            self._waiting.setdefault(prompt.number, {})[engine] = (prompt, answer)

    def _compare(self, engine: str, prompt: Prompt, answer: Answer) -> None:
        self.compared[engine] = self.compared.get(engine, 0) + 1
        reference = self._references[prompt.number]
        found = difference(engine, prompt, reference=reference, answer=answer)
        if found is not None:
            self.differences.setdefault(engine, []).append(found)
