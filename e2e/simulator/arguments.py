"""vLLM's arguments, as far as the simulator does what they say; the others are only reported."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DTYPES = ("auto", "float32", "float", "bfloat16", "float16", "half")
MAX_NUM_SEQS = 256
"""What vLLM takes where nothing is said and the machine is not large."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """How many tokens are drafted, and by which method."""

    method: str
    num_speculative_tokens: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """What one engine is told on its command line."""

    model: Path
    host: str
    port: int
    served_model_name: str
    dtype: str
    max_model_len: int | None
    max_num_seqs: int
    shutdown_timeout_seconds: float
    speculation: Speculation | None
    middleware: tuple[str, ...]
    ignored: tuple[str, ...]


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Return the arguments; like vLLM, exit with 2 and a sentence when they cannot be used."""
    parser = argparse.ArgumentParser(prog="api_server", allow_abbrev=False)
    parser.add_argument("--model", type=_model, required=True)
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--dtype", choices=DTYPES, default="auto")
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--max-num-seqs", type=int, default=MAX_NUM_SEQS)
    parser.add_argument("--shutdown-timeout", type=float, default=0.0)
    parser.add_argument("--speculative-config", type=_speculation)
    parser.add_argument("--middleware", action="append", default=[])
    found, ignored = parser.parse_known_args(argv)
    return Arguments(
        model=found.model,
        host=found.host,
        port=found.port,
        served_model_name=(found.served_model_name or [str(found.model)])[0],
        dtype={"float": "float32", "half": "float16"}.get(found.dtype, found.dtype),
        max_model_len=found.max_model_len,
        max_num_seqs=found.max_num_seqs,
        shutdown_timeout_seconds=found.shutdown_timeout,
        speculation=found.speculative_config,
        middleware=tuple(found.middleware),
        ignored=tuple(ignored),
    )


def _model(text: str) -> Path:
    path = Path(text)
    if not (path / "config.json").is_file():
        raise argparse.ArgumentTypeError(f"{text}: no config.json, expected a model's folder")
    return path


def _speculation(text: str) -> Speculation:
    try:
        fields = json.loads(text)
        speculation = Speculation(
            method=str(fields["method"]), num_speculative_tokens=fields["num_speculative_tokens"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected JSON with method and num_speculative_tokens"
        ) from error
    if type(speculation.num_speculative_tokens) is not int or not (
        0 < speculation.num_speculative_tokens <= 64
    ):
        raise argparse.ArgumentTypeError(
            f"num_speculative_tokens is {speculation.num_speculative_tokens!r}, expected 1 to 64"
        )
    return speculation
