"""vLLM's OpenAI API as values: what a body asks for, and what answers, chunks and errors look like.

What vLLM refuses is refused in its words as far as clients see them; what cannot be simulated
(several choices, log probabilities) is refused too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from e2e.simulator.texts import text_of, tokens_of

Json = dict[str, Any]

DEFAULT_COMPLETION_TOKENS = 16
FINGERPRINT = "specfleet-simulator"


class ApiError(Exception):
    """A request that gets an error as its answer."""

    def __init__(
        self, message: str, *, status: HTTPStatus, kind: str, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {
            "error": {"message": message, "type": kind, "param": param, "code": int(status)}
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """What one request wants; every prompt gets a choice."""

    is_chat: bool
    prompts: tuple[tuple[int, ...], ...]
    max_tokens: int
    ignore_stop: bool
    stream: bool
    include_usage: bool
    return_token_ids: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What all answers to one request say."""

    id: str
    created: int
    model: str


def read_completion(body: Mapping[str, Any], *, model: str, max_model_len: int) -> Asked:
    """Return what a body of /v1/completions asks for; ApiError when it cannot be answered."""
    _check_model(body, model)
    prompts = _prompts(body.get("prompt"))
    if not prompts or not all(prompts):
        raise _bad(
            "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)",
            "prompt",
        )
    return _asked(
        body,
        prompts,
        is_chat=False,
        max_tokens=body.get("max_tokens", DEFAULT_COMPLETION_TOKENS),
        max_model_len=max_model_len,
    )


def read_chat(body: Mapping[str, Any], *, model: str, max_model_len: int) -> Asked:
    """Return what a body of /v1/chat/completions asks for."""
    _check_model(body, model)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _bad(f"messages is {messages!r}, expected a list of messages", "messages")
    lines = [f"{_field(message, 'role')}: {_content(message)}\n" for message in messages]
    prompt = tokens_of("".join(lines) + "assistant:")
    max_tokens = body.get("max_completion_tokens", body.get("max_tokens"))
    return _asked(
        body,
        (prompt,),
        is_chat=True,
        max_tokens=max(1, max_model_len - len(prompt)) if max_tokens is None else max_tokens,
        max_model_len=max_model_len,
    )


def answer(asked: Asked, facts: Facts, choices: Sequence[tuple[Sequence[int], str]]) -> Json:
    """Return the whole answer; a choice is its tokens and why they end."""
    completion_tokens = sum(len(tokens) for tokens, _ in choices)
    return {
        "id": facts.id,
        "object": "chat.completion" if asked.is_chat else "text_completion",
        "created": facts.created,
        "model": facts.model,
        "choices": [
            _choice(asked, index, tokens, reason) for index, (tokens, reason) in enumerate(choices)
        ],
        "system_fingerprint": FINGERPRINT,
        "usage": usage(asked, completion_tokens),
    }


def chunk(
    asked: Asked, facts: Facts, index: int, tokens: Sequence[int], reason: str | None
) -> Json:
    """Return what a stream says about some more tokens."""
    token_ids = list(tokens) if asked.return_token_ids else None
    choice: Json = {"index": index, "logprobs": None, "finish_reason": reason}
    if asked.is_chat:
        choice |= {"delta": {"content": text_of(tokens)}, "token_ids": token_ids}
    else:
        choice |= {"text": text_of(tokens), "stop_reason": None, "token_ids": token_ids}
    return _chunk(asked, facts, [choice])


def opening(asked: Asked, facts: Facts) -> Json:
    """Return the first chunk of a chat, which names the role."""
    delta = {"role": "assistant", "content": ""}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    return _chunk(asked, facts, [choice])


def closing(asked: Asked, facts: Facts, completion_tokens: int) -> Json:
    """Return the last chunk of a stream that wants its usage."""
    return _chunk(asked, facts, []) | {"usage": usage(asked, completion_tokens)}


def usage(asked: Asked, completion_tokens: int) -> Json:
    """Return how many tokens came in and went out."""
    prompt_tokens = sum(map(len, asked.prompts))
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
    }


def models(model: str, *, root: str, max_model_len: int, created: int) -> Json:
    """Return the answer of /v1/models."""
    card = {
        "id": model,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": root,
        "parent": None,
        "max_model_len": max_model_len,
    }
    return {"object": "list", "data": [card]}


def overloaded() -> ApiError:
    """Return what a request gets that is one too many."""
    return ApiError(
        "The engine is currently busy and cannot accept new requests. "
        "Please try again later or on a different instance.",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        kind="Service Unavailable",
    )


def failed() -> ApiError:
    """Return what a request gets that the test wants to fail."""
    return ApiError(
        "Internal server error", status=HTTPStatus.INTERNAL_SERVER_ERROR, kind="InternalServerError"
    )


def _asked(
    body: Mapping[str, Any],
    prompts: tuple[tuple[int, ...], ...],
    *,
    is_chat: bool,
    max_tokens: Any,
    max_model_len: int,
) -> Asked:
    if type(max_tokens) is not int:
        raise _bad(f"max_tokens is {max_tokens!r}, expected a whole number", "max_tokens")
    if max_tokens < 1:
        raise _bad(
            f"max_tokens must be at least 1, got {max_tokens}. "
            f"(parameter=max_tokens, value={max_tokens})",
            "max_tokens",
        )
    longest = max(map(len, prompts))
    if longest + max_tokens > max_model_len:
        raise _bad(
            f"max_tokens={max_tokens} and a prompt of {longest} tokens cannot be greater than "
            f"max_model_len={max_model_len}. Please request fewer output tokens.",
            "max_tokens",
        )
    for name in ("n", "best_of"):
        if body.get(name) not in (None, 1):
            raise _bad(f"{name} is {body[name]!r}, expected 1: the simulator has one answer", name)
    for name in ("logprobs", "top_logprobs", "prompt_logprobs", "echo"):
        if body.get(name):
            raise _bad(f"{name} is {body[name]!r}, expected none: the simulator has none", name)
    options = body.get("stream_options") or {}
    return Asked(
        is_chat=is_chat,
        prompts=prompts,
        max_tokens=max_tokens,
        ignore_stop=bool(body.get("ignore_eos")),
        stream=bool(body.get("stream")),
        include_usage=bool(options.get("include_usage")),
        return_token_ids=bool(body.get("return_token_ids")),
    )


def _choice(asked: Asked, index: int, tokens: Sequence[int], reason: str) -> Json:
    choice: Json = {
        "index": index,
        "logprobs": None,
        "finish_reason": reason,
        "stop_reason": None,
        "token_ids": list(tokens) if asked.return_token_ids else None,
    }
    if asked.is_chat:
        return choice | {"message": {"role": "assistant", "content": text_of(tokens)}}
    prompt_token_ids = list(asked.prompts[index]) if asked.return_token_ids else None
    return choice | {"text": text_of(tokens), "prompt_token_ids": prompt_token_ids}


def _chunk(asked: Asked, facts: Facts, choices: list[Json]) -> Json:
    return {
        "id": facts.id,
        "object": "chat.completion.chunk" if asked.is_chat else "text_completion",
        "created": facts.created,
        "model": facts.model,
        "choices": choices,
    }


def _check_model(body: Mapping[str, Any], model: str) -> None:
    asked = body.get("model", model)
    if asked != model:
        raise ApiError(
            f"The model `{asked}` does not exist. Valid aliases: {model}.",
            status=HTTPStatus.NOT_FOUND,
            kind="NotFoundError",
            param="model",
        )


def _prompts(value: Any) -> tuple[tuple[int, ...], ...]:
    """Return the prompts of a text, several texts, token ids or several lists of them."""
    if isinstance(value, str):
        return (tokens_of(value),)
    if not isinstance(value, list):
        return ()
    if all(type(each) is int for each in value):
        return (tuple(value),)
    return tuple(tokens_of(each) if isinstance(each, str) else tuple(each) for each in value)


def _content(message: Any) -> str:
    content = _field(message, "content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


def _field(message: Any, name: str) -> Any:
    if not isinstance(message, dict) or name not in message:
        raise _bad(f"message {message!r} has no {name}, expected role and content", "messages")
    return message[name]


def _bad(message: str, param: str) -> ApiError:
    return ApiError(message, status=HTTPStatus.BAD_REQUEST, kind="BadRequestError", param=param)
