"""What the audits ask an engine: samples, the target's own distribution, and how good a text is."""

from __future__ import annotations

import json
import math
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from e2e.engines import Answer, Engine

TOP = 64
"""How many of the most likely tokens a distribution names."""
PLAIN_ARGUMENTS = ("--max-logprobs", str(TOP), "--logprobs-mode", "processed_logprobs")
"""Of an engine that is asked for distributions: those that it samples from."""
TIMEOUT_SECONDS = 600

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """An emitted token as the target rates it: how far behind its first choice, in nats."""

    logprob: float
    gap: float
    second: int
    """Its second choice."""
    second_gap: float


def sampled(
    engine: Engine, prompt: Tokens, *, count: int, tokens: int, temperature: float
) -> list[Tokens]:
    """Return so many continuations of a prompt, each of so many tokens."""
    choices = _ask(
        engine,
        prompt,
        n=count,
        max_tokens=tokens,
        temperature=temperature,
        ignore_eos=True,
        return_token_ids=True,
    )
    return [tuple(choice["token_ids"]) for choice in choices]


def distribution(engine: Engine, prefix: Tokens, *, temperature: float) -> dict[int, float]:
    """Return the probabilities of the tokens most likely to come next, the first one first."""
    (choice,) = _ask(
        engine,
        prefix,
        max_tokens=1,
        temperature=temperature,
        ignore_eos=True,
        logprobs=TOP,
        return_tokens_as_token_ids=True,
    )
    (told,) = choice["logprobs"]["top_logprobs"]
    found = {int(name.removeprefix("token_id:")): math.exp(value) for name, value in told.items()}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def rated(engine: Engine, answer: Answer) -> list[Rating]:
    """Return how the engine's target rates every output token after those before it."""
    (choice,) = _ask(
        engine, answer.prompt + answer.output, max_tokens=1, temperature=0, prompt_logprobs=2
    )
    told = choice["prompt_logprobs"][len(answer.prompt) :]
    return [rating(token, one) for token, one in zip(answer.output, told, strict=True)]


def rating(token: int, told: dict[str, dict[str, Any]]) -> Rating:
    """Return the rating of a token from what vLLM tells about its place."""
    first, second = sorted(told.items(), key=lambda one: one[1]["rank"])[:2]
    best, logprob = first[1]["logprob"], told[str(token)]["logprob"]
    return Rating(logprob, best - logprob, int(second[0]), best - second[1]["logprob"])


def _ask(engine: Engine, prompt: Sequence[int], **fields: Any) -> list[dict[str, Any]]:
    request = urllib.request.Request(
        f"{engine.url}/v1/completions",
        json.dumps({"model": "tiny", "prompt": list(prompt)} | fields).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
        choices: list[dict[str, Any]] = json.load(reply)["choices"]
    return choices
