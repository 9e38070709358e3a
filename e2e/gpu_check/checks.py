"""What is looked at in one engine: capture, parity, swaps, identity, timing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.audits.asking import rated
from e2e.documents import LANGUAGES, beginnings, documents
from e2e.engines import MODEL, Engine
from e2e.gpu_check.places import CHUNK_TOKENS, Place
from e2e.observation import Observation, observe
from e2e.parity import has_parity, parity, with_noise
from e2e.walking import head_of
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.shm.pages import PageReader
from specfleet_common.tensors import content_digest
from specfleet_trainer.checkpoint import read_tables


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    figures: Mapping[str, object]


def examine(engine: Engine, place: Place, *, plain_tokens_per_second: float) -> list[Check]:
    """Look at everything in one engine: traffic, a worse drafter, traffic, stock, traffic."""
    page = engine.page()
    if not page["adapting"]:
        return [Check("attached", passed=False, figures={"reason": page["reason"]})]
    texts, tables = prompts(place), read_tables(MODEL)
    stock = (engine.shm / STOCK_FILE).read_bytes()
    worse = with_noise(stock, share=1.0, dtype=place.dtype)
    engine.complete(texts, max_tokens=8)
    engine.captured(requests=len(texts))
    first = observe(engine, texts)
    to_worse = _published(engine, worse, "version")
    swapped = observe(engine, texts)
    to_stock = _published(engine, stock, "stock")
    back = observe(engine, texts)
    speed = tokens_per_second(engine, texts)
    engine.counted()
    page = engine.page()
    heads = {"stock": head_of(stock), "worse": head_of(worse)}

    def same(head: str, observation: Observation) -> bool:
        return has_parity(parity(heads[head], tables, observation.rows), place.bounds)

    return [
        Check("attached", passed=True, figures={"lineage": page["lineage"], "rows": page["rows"]}),
        _capture(first, page),
        Check(
            "parity",
            same("stock", first)
            and same("worse", swapped)
            and not same("stock", swapped)
            and not same("worse", first),
            {
                name: [
                    {"equal": depth.equal, "of": depth.total}
                    for depth in parity(heads[name], tables, observation.rows)
                ]
                for name, observation in (("stock", first), ("worse", swapped))
            },
        ),
        _swap(first, swapped, back, ranks(engine), content_digest(worse)),
        _identity(engine, place, (first, swapped, back)),
        Check(
            "timing",
            all(band["draft_seconds"] > 0 for band in page["costs"]["bands"]),
            {
                "swap_apply_seconds": page["swap_apply_seconds"],
                "publish_to_observed_seconds": [to_worse, to_stock],
                "tokens_per_second": speed,
                "tokens_per_second_without_plugin": plain_tokens_per_second,
                "bands": page["costs"]["bands"],
            },
        ),
    ]


def prompts(place: Place) -> list[str]:
    """Return beginnings of documents in all languages."""
    return beginnings([one for name in LANGUAGES for one in documents(name)[: place.documents]])


def ranks(engine: Engine) -> list[dict[str, Any]]:
    """Return the pages of all ranks."""
    pages = [PageReader.attach(path).read() for path in sorted(engine.shm.glob("rank-*.page"))]
    return [page for page in pages if page is not None]


def tokens_per_second(engine: Engine, texts: Sequence[str]) -> float:
    """Return the speed at which all prompts are answered, the second time."""
    engine.complete(texts, max_tokens=32)
    began = time.monotonic()
    answers = engine.complete(texts, max_tokens=32)
    return sum(len(answer.output) for answer in answers) / (time.monotonic() - began)


def _capture(first: Observation, page: Mapping[str, Any]) -> Check:
    captured = sorted(tuple(row.tokens.tolist()) for row in first.rows)
    counts = page["capture"]
    return Check(
        "capture",
        captured == sorted(answer.prompt + answer.output for answer in first.answers)
        and any(len(answer.prompt) > CHUNK_TOKENS for answer in first.answers)
        and not counts["dropped_records"],
        {"requests": len(captured), "counts": counts},
    )


def _swap(
    first: Observation,
    swapped: Observation,
    back: Observation,
    pages: Sequence[Mapping[str, Any]],
    worse: str,
) -> Check:
    lengths = [one.acceptance_length for one in (first, swapped, back)]
    proposers = {draft.digest for row in swapped.rows for draft in row.drafts.values()}
    states = [
        {name: page[name] for name in ("observed", "swaps", "mismatches", "refused_banks")}
        for page in pages
    ]
    stock = {"observed": "stock", "swaps": 2, "mismatches": 0, "refused_banks": {}}
    return Check(
        "swap",
        proposers == {worse}
        and lengths[1] < 0.95 * lengths[0]
        and abs(lengths[2] / lengths[0] - 1) < 0.05
        and all(state == stock for state in states),
        {"acceptance_lengths": lengths, "ranks": states},
    )


def _identity(engine: Engine, place: Place, observations: Sequence[Observation]) -> Check:
    """Rate every emitted token by the target: near-ties may change places, nothing else may."""
    answers = {answer for one in observations for answer in one.answers}
    gap = max(rating.gap for answer in answers for rating in rated(engine, answer))
    first = observations[0].answers
    return Check(
        "identity",
        gap <= place.margin,
        {
            "largest_gap_nats": gap,
            "margin_nats": place.margin,
            "different_answers": [
                sum(one != other for one, other in zip(first, later.answers, strict=True))
                for later in observations[1:]
            ],
            "of": len(first),
        },
    )


def _published(engine: Engine, weights: bytes, label: str) -> float:
    began = time.monotonic()
    engine.publish(weights, content_digest(weights), label)
    return time.monotonic() - began
