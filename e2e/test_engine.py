"""The plugin in a real vLLM: what it captures is true, what it swaps takes effect, outputs stay.

Parity and the effective swap carry everything else, so each check is also shown to fail when the
thing it tests is broken on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from e2e.engines import MODEL, ROOT, Answer, Engine, running_engine
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import BANK_FILE, STOCK_FILE
from specfleet_common.tensors import content_digest, decode, encode
from specfleet_trainer.checkpoint import Tables, read_config, read_tables
from specfleet_trainer.heads import Head, new_head
from specfleet_trainer.replay import DepthParity, compare_drafts
from specfleet_trainer.sequences import Sequence as Rows

pytestmark = pytest.mark.e2e

DEPTHS = 3
NEAR_TIE_SIGMAS = 0.02
CHUNK_TOKENS = 64
"""A budget below most prompts, so that prefills come in chunks."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    with running_engine(folder, "--max-num-batched-tokens", str(CHUNK_TOKENS)) as running:
        yield running


@pytest.fixture(scope="module")
def prompts() -> list[str]:
    texts = [
        json.loads(line)["text"]
        for language in ("hi", "en", "py", "ja")
        for line in (ROOT / f"examples/text/{language}.jsonl").read_text().splitlines()[:8]
    ]
    return [text[: len(text) // 2] for text in texts]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(MODEL)


def head_of(weights: bytes) -> Head:
    head = new_head("mtp", "mimo", read_config(MODEL))
    head.load_checkpoint(decode(weights))
    return head


def with_noise(weights: bytes, *, share: float) -> bytes:
    """Return the weights with noise of `share` of each tensor's size added."""
    rng = np.random.default_rng(0)
    noisy = {
        name: (value + share * value.std() * rng.standard_normal(value.shape)).astype(np.float32)
        for name, value in decode(weights).items()
    }
    return encode(noisy)


@dataclass(frozen=True, slots=True)
class Observation:
    """What one round of traffic showed."""

    answers: list[Answer]
    rows: list[Rows]
    acceptance_length: float


def observe(engine: Engine, prompts: Sequence[str]) -> Observation:
    """Send the prompts once; the acceptance length is that of the drafter now live."""
    before = engine.page()
    answers = engine.complete(prompts, max_tokens=48)
    rows = engine.captured(requests=len(prompts))
    wanted = before["capture"]["taken_rows"] + sum(row.rows for row in rows)
    after = engine.wait(
        lambda page: page["capture"]["taken_rows"] >= wanted and not page["capture"]["followed"],
        what=f"{wanted} rows captured",
    )
    steps, accepted = (new - old for new, old in zip(counted(after), counted(before), strict=True))
    return Observation(answers, rows, 1 + accepted / steps)


def counted(page: dict[str, Any]) -> tuple[int, int]:
    """Return verify steps and accepted tokens of all drafters together."""
    return (
        sum(drafter["verify_steps"] for drafter in page["drafters"]),
        sum(sum(drafter["accepted"]) for drafter in page["drafters"]),
    )


def parity(head: Head, tables: Tables, rows: Sequence[Rows]) -> list[DepthParity]:
    """Add up the parity of all complete requests, depth by depth."""
    compared = [compare_drafts(head, tables, row, DEPTHS) for row in rows if row.complete]
    return [
        DepthParity(
            equal=sum(part.equal for part in parts),
            total=sum(part.total for part in parts),
            differences=tuple(d for part in parts for d in part.differences),
        )
        for parts in zip(*compared, strict=True)
    ]


def has_parity(depths: Sequence[DepthParity]) -> bool:
    """Say whether at least 99 % are equal at each depth and every difference is a near-tie."""
    return all(
        depth.total > 0
        and depth.equal >= 0.99 * depth.total
        and all(d.gap_sigmas < NEAR_TIE_SIGMAS for d in depth.differences)
        for depth in depths
    )


def changed(before: Observation, after: Observation) -> bool:
    """Say whether another drafter is at work: its acceptance length is not the same."""
    return abs(after.acceptance_length / before.acceptance_length - 1) > 0.15


@pytest.fixture(scope="module")
def stock(engine: Engine) -> bytes:
    return (engine.shm / STOCK_FILE).read_bytes()


@pytest.fixture(scope="module")
def first(engine: Engine, prompts: list[str]) -> Observation:
    return observe(engine, prompts)


def test_the_engine_reports_stock_at_start(engine: Engine, stock: bytes) -> None:
    page = engine.page()

    assert page["adapting"], page["reason"]
    assert page["observed"] == "stock"
    assert page["observed_digest"] == content_digest(stock)


def test_the_captured_tokens_are_the_prompts_and_the_answers(first: Observation) -> None:
    captured = sorted(tuple(row.tokens.tolist()) for row in first.rows)

    assert captured == sorted(answer.prompt + answer.output for answer in first.answers)


def test_prefills_came_in_chunks(first: Observation) -> None:
    assert any(len(answer.prompt) > CHUNK_TOKENS for answer in first.answers)
    assert any((row.fed != row.tokens[1:]).any() for row in first.rows)


def test_the_offline_head_drafts_what_the_engine_drafted(
    stock: bytes, tables: Tables, first: Observation
) -> None:
    depths = parity(head_of(stock), tables, first.rows)

    for number, depth in enumerate(depths, start=1):
        print(f"depth {number}: {depth.equal} of {depth.total} equal, {depth.differences}")
    assert has_parity(depths)


def test_parity_fails_for_a_head_that_is_slightly_another(
    stock: bytes, tables: Tables, first: Observation
) -> None:
    assert not has_parity(parity(head_of(with_noise(stock, share=0.1)), tables, first.rows))


def test_parity_fails_when_drafts_see_each_others_chains(
    stock: bytes, tables: Tables, first: Observation
) -> None:
    """Feed each row the engine's draft for it, as a trainer without the tree mask would."""
    head = head_of(stock)

    self_fed = [fed_with_own_drafts(row) for row in first.rows if row.complete]

    assert not has_parity(parity(head, tables, self_fed))


def fed_with_own_drafts(row: Rows) -> Rows:
    fed = row.fed.copy()
    for at, drafts in row.drafts.items():
        fed[at + 1 : at + 2] = drafts.tokens[0] if at + 1 < row.rows else fed[at + 1 : at + 2]
    return replace(row, fed=fed)


def test_a_swap_takes_effect_and_outputs_stay(
    engine: Engine, prompts: list[str], stock: bytes, tables: Tables, first: Observation
) -> None:
    worse = with_noise(stock, share=1.0)

    engine.publish(worse, content_digest(worse), "version")
    swapped = observe(engine, prompts)
    engine.publish(stock, content_digest(stock), "stock")
    back = observe(engine, prompts)

    assert changed(first, swapped)
    assert not changed(first, back)
    assert swapped.answers == first.answers == back.answers
    assert has_parity(parity(head_of(worse), tables, swapped.rows))
    assert {d.digest for row in swapped.rows for d in row.drafts.values()} == {
        content_digest(worse)
    }
    assert engine.page()["observed"] == "stock"


def test_a_swap_that_does_nothing_would_be_noticed(
    engine: Engine, prompts: list[str], stock: bytes, tables: Tables, first: Observation
) -> None:
    """Traffic without a swap fails both checks that the swap above has passed."""
    worse = with_noise(stock, share=1.0)

    unchanged = observe(engine, prompts)

    assert not changed(first, unchanged)
    assert not has_parity(parity(head_of(worse), tables, unchanged.rows))


def test_a_bank_of_another_lineage_is_refused_and_serving_goes_on(
    engine: Engine, prompts: list[str], stock: bytes, first: Observation
) -> None:
    foreign = Layout("mtp", "mimo", "0" * 16, 128, "float32", DEPTHS)
    bank = BankWriter.create(engine.shm / BANK_FILE, foreign, slot_bytes=len(stock))

    bank.publish([stock], content_digest(stock), "version")
    page = engine.wait(lambda page: page["refused_banks"].get("layout"), what="refused")

    assert page["observed"] == "stock"
    assert engine.complete(prompts[:4], max_tokens=48) == first.answers[:4]
