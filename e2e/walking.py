"""Step walks of many drafters over the same requests: what each of them would have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.collecting import collect
from e2e.documents import LANGUAGES, beginnings, unseen
from e2e.driving import MAX_TOKENS
from e2e.engines import MODEL
from e2e.live import Picture, View
from e2e.stored import Version
from specfleet_common.tensors import decode
from specfleet_trainer.checkpoint import Tables, read_config, read_tables
from specfleet_trainer.heads import Head, new_head
from specfleet_trainer.sequences import Sequence as Rows
from specfleet_trainer.walk import walks

DEPTHS = 3


def head_of(weights: bytes | memoryview) -> Head:
    """Return a head of the small model with the weights of a safetensors file."""
    head = new_head("mtp", "mimo", read_config(MODEL))
    head.load_checkpoint(decode(weights))
    return head


def walk_unseen(
    versions: Mapping[str, Sequence[Version]], folder: Path, *, documents: int, view: View
) -> dict[str, dict[int, float]]:
    """Return tokens per verify step on documents that were never sent: language, then version.

    An engine with the plugin answers and captures the documents first, in `folder`; then each
    language's versions walk over the requests that are complete.
    """
    requests = collect(
        {language: beginnings(unseen(language)[:documents]) for language in versions},
        folder,
        max_tokens=MAX_TOKENS,
        report=lambda name, done, of: view.show(
            Picture(f"{LANGUAGES[name]}: {done} of {of} held-out documents answered")
        ),
    )
    tables = read_tables(MODEL)
    found: dict[str, dict[int, float]] = {}
    for language, wanted in versions.items():
        view.show(Picture(f"{LANGUAGES[language]}: walking {len(wanted)} versions"))
        heads = [head_of(version.weights) for version in wanted]
        lengths = acceptance_lengths(heads, tables, requests[language])
        found[language] = {
            version.number: length for version, length in zip(wanted, lengths, strict=True)
        }
    return found


def acceptance_lengths(
    heads: Sequence[Head], tables: Tables, requests: Sequence[Rows]
) -> list[float]:
    """Return each head's tokens per verify step on the requests that are complete."""
    walked = walks(heads, tables, (rows for rows in requests if rows.complete), DEPTHS)
    tokens = sum(request.tokens for request in walked)
    steps = zip(*(request.verify_steps for request in walked), strict=True)
    return [tokens / sum(of_head) for of_head in steps]


def acceptance_length(head: Head, tables: Tables, requests: Sequence[Rows]) -> float:
    """Return one head's tokens per verify step on the requests that are complete."""
    return acceptance_lengths([head], tables, requests)[0]
