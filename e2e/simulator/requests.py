"""One request in a simulated engine: where its answer stands, and what the next step adds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from e2e.simulator.texts import FIRST_TOKEN, Answer

WRONG = FIRST_TOKEN
"""A token that no answer has: what a drafter proposes where it is not right."""


@dataclass(frozen=True, slots=True)
class Output:
    """Tokens that a step added to an answer; the last has a reason."""

    tokens: tuple[int, ...]
    finish_reason: str | None = None


@dataclass(eq=False, slots=True)
class Request:
    """A prompt, how much of its answer is there, and how much of the open draft is right."""

    id: str
    external_id: str
    """What the API server calls it; `id` is the engine's, made of it as vLLM does."""
    prompt: Sequence[int]
    answer: Answer
    max_tokens: int
    stop_token: int | None
    arrived: float
    ready: float = 0.0
    first_token: float = 0.0
    newest_token: float = 0.0
    emitted: int = 0
    accepted: int = 0
    num_drafts: int = 0
    finish_reason: str | None = None
    outputs: asyncio.Queue[Output] = field(default_factory=asyncio.Queue)

    @property
    def is_started(self) -> bool:
        """Return whether the prompt was read: later steps verify a draft."""
        return self.emitted > 0

    def rows(self) -> tuple[int, list[int]]:
        """Return the position and the tokens of the rows that the next step verifies."""
        if not self.is_started:
            return 0, list(self.prompt)
        first = self.emitted - 1
        return len(self.prompt) + first, self.answer.tokens(first, self.emitted + self.accepted)

    def next_token(self) -> int:
        """Return the token that the target puts after those rows."""
        return self.answer.tokens(self.emitted + self.accepted, self.emitted + self.accepted + 1)[0]

    def advance(self) -> Output:
        """Take the accepted tokens and the next one into the answer, up to where it ends."""
        new = self.answer.tokens(self.emitted, self.emitted + self.accepted + 1)
        if self.stop_token in new:
            new = new[: new.index(self.stop_token) + 1]
        new = new[: self.max_tokens - self.emitted]
        self.emitted += len(new)
        if new[-1] == self.stop_token:
            self.finish_reason = "stop"
        elif self.emitted == self.max_tokens:
            self.finish_reason = "length"
        return Output(tuple(new), self.finish_reason)

    def draft(self, depth: int, rates: Sequence[float], drafter: str) -> list[int]:
        """Return what a drafter proposes next, right as often as its rates say."""
        self.accepted = self.answer.accepted(self.num_drafts, rates[:depth], drafter)
        self.num_drafts += 1
        right = self.answer.tokens(self.emitted, self.emitted + self.accepted)
        return [*right, *[WRONG] * (depth - self.accepted)]
