"""Which requests are followed, and which of their tokens count. No vLLM, no clock, no I/O."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from specfleet_common.shm.capture import Begin, End


@dataclass(frozen=True, slots=True)
class FollowPolicy:
    """How many requests are followed at once, how far, and which are held out from training."""

    fleet: str
    follow_requests: int
    max_tokens: int
    holdout_percent: int
    key_tokens: int
    """How many of a prompt's first tokens name its conversation: more than a system prompt has."""


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A request at its first forward pass. `computed_tokens` came from the prefix cache."""

    id: str
    prompt: Sequence[int]
    computed_tokens: int
    max_output_tokens: int
    min_output_tokens: int
    stop_tokens: frozenset[int]
    external_id: str
    """What the request is called outside of the engine; several may have the same."""


@dataclass(slots=True)
class Followed:
    """A followed request: the tokens at positions below `length` count."""

    serial: int
    key: int
    held_out: bool
    prompt_tokens: int
    longest: int
    min_length: int
    stop_tokens: frozenset[int]
    length: int
    stopped: bool = False

    def extend(self, position: int, tokens: Sequence[int]) -> None:
        """Take `tokens`, which the target put at `position` and after, up to where it stops.

        vLLM verifies a whole draft at once, so tokens past a stop reach the drafter; they are not
        part of the answer.
        """
        known = max(0, self.length - position)
        for at, token in enumerate(tokens[known:], start=position + known):
            if self.stopped or at >= self.longest:
                return
            self.length = at + 1
            self.stopped = token in self.stop_tokens and at + 1 > self.min_length


def conversation_key(prompt: Sequence[int], policy: FollowPolicy) -> int:
    """Return 64 bits made of the fleet and the prompt's first tokens, the same in all engines.

    Later turns of a conversation share the key once its first prompt has `key_tokens` tokens;
    shorter ones, such as single questions, are conversations of their own.
    """
    first = prompt[: policy.key_tokens]
    salt = hashlib.blake2b(policy.fleet.encode(), digest_size=32).digest()
    content = struct.pack(f"<{len(first)}i", *first)
    return int.from_bytes(hashlib.blake2b(content, key=salt, digest_size=8).digest(), "little")


class Following:
    """The requests followed now, by vLLM's request id.

    A new request takes a free place when it comes; that depends on nothing in it, so the followed
    requests are a fair sample of the traffic.
    """

    def __init__(self, policy: FollowPolicy) -> None:
        self._policy = policy
        self._followed: dict[str, Followed] = {}
        self._next_serial = 0

    def __len__(self) -> int:
        return len(self._followed)

    def get(self, request_id: str) -> Followed | None:
        """Return the followed request of this id, None when it is not followed."""
        return self._followed.get(request_id)

    def admit(self, request: NewRequest) -> Begin | None:
        """Follow the request if there is room, and say so; None when it is not followed."""
        policy = self._policy
        prompt_tokens = len(request.prompt)
        if len(self._followed) >= policy.follow_requests or prompt_tokens >= policy.max_tokens:
            return None
        key = conversation_key(request.prompt, policy)
        followed = Followed(
            serial=self._next_serial,
            key=key,
            held_out=key % 100 < policy.holdout_percent,
            prompt_tokens=prompt_tokens,
            longest=min(prompt_tokens + request.max_output_tokens, policy.max_tokens),
            min_length=prompt_tokens + request.min_output_tokens,
            stop_tokens=request.stop_tokens,
            length=prompt_tokens,
        )
        self._next_serial += 1
        self._followed[request.id] = followed
        return Begin(
            serial=followed.serial,
            key=followed.key,
            held_out=followed.held_out,
            complete=request.computed_tokens == 0,
            prompt_tokens=prompt_tokens,
        )

    def end(self, request_id: str, reason: str) -> End | None:
        """Stop following the request; None when it was not followed."""
        followed = self._followed.pop(request_id, None)
        if followed is None:
            return None
        return End(serial=followed.serial, length=followed.length, reason=reason)

    def end_all(self, reason: str) -> list[End]:
        """Stop following every request."""
        ends = [self.end(request_id, reason) for request_id in list(self._followed)]
        return [end for end in ends if end is not None]
