"""Which batch sizes an engine on a GPU records as CUDA graphs.

With speculation a decoding batch has K+1 tokens per request, so that the sizes that matter are
multiples of K+1 up to the concurrency; vLLM's own list ends at 512 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

_CONCURRENCY = "--max-num-seqs"
_USERS_CHOICE = frozenset(
    {
        "--cudagraph-capture-sizes",
        "--max-cudagraph-capture-size",
        "--compilation-config",
        "-cc",
        "--optimization-level",
        "--enforce-eager",
    }
)


def graph_arguments(arguments: Sequence[str], *, speculative_tokens: int) -> tuple[str, ...]:
    """Return the arguments that set the sizes; none when the user's leave nothing to set.

    Nothing is set either while the user does not limit the concurrency: the engine knows its own.
    """
    if any(_name(argument) in _USERS_CHOICE or _is_level(argument) for argument in arguments):
        return ()
    concurrency = _concurrency(arguments)
    if concurrency is None:
        return ()
    sizes = capture_sizes(concurrency, speculative_tokens=speculative_tokens)
    return ("--cudagraph-capture-sizes", *map(str, sizes))


def capture_sizes(concurrency: int, *, speculative_tokens: int) -> tuple[int, ...]:
    """Return batch sizes in tokens, ascending; the last is the widest decoding batch."""
    steps = {1, 2, 4, *range(8, 256, 8), *range(256, concurrency, 16), concurrency}
    return tuple((speculative_tokens + 1) * n for n in sorted(steps) if n <= concurrency)


def _concurrency(arguments: Sequence[str]) -> int | None:
    found = ""
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if _name(argument) == _CONCURRENCY:
            found = argument.partition("=")[2] or following
    return int(found) if found.isdecimal() and int(found) > 0 else None


def _name(argument: str) -> str:
    return argument.split("=", 1)[0].split(".", 1)[0].replace("_", "-")


def _is_level(argument: str) -> bool:
    return argument.startswith("-O")
