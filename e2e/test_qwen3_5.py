"""Family `mtp` in the Qwen3.5 layout, in a real vLLM: parity, and swaps that take effect.

vLLM's linear attention on CPU computes in bfloat16 only, so the engine rounds what a head here does
not: near-ties are wider than between two that compute in float32, and an output may change places
with one as good when other rows share its batch. On a CPU without instructions for bfloat16 (AVX2
alone) such products take a hundred times as long; hence a model this small.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from e2e.audits.margins import first_difference
from e2e.documents import LANGUAGES, beginnings, documents
from e2e.engines import MODEL, Engine, running_engine
from e2e.observation import Observation, changed, observe
from e2e.parity import Bounds, fed_with_own_drafts, has_parity, parity, with_noise
from e2e.qwen3_5_model import write_model
from specfleet_common.shm.names import STOCK_FILE
from specfleet_common.tensors import content_digest, decode
from specfleet_trainer.batch import pack
from specfleet_trainer.checkpoint import Tables, read_config, read_tables
from specfleet_trainer.heads import Head, new_head
from specfleet_trainer.replay import DepthParity
from specfleet_trainer.sequences import Sequence as Rows

pytestmark = pytest.mark.e2e

ROUNDED = Bounds(least_equal=0.95, near_tie_sigmas=0.05)
"""Where the engine computes in bfloat16, in which logits of 4 sigmas are 0.03 apart."""
CHUNK_TOKENS = 64
"""A budget below most prompts, so that prefills come in chunks."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("qwen3_5") / "model", tokenizer=MODEL)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Engine]:
    with running_engine(
        tmp_path_factory.mktemp("engine"),
        *("--max-num-batched-tokens", str(CHUNK_TOKENS)),
        # vLLM's prefix cache of linear attention needs Triton, which has no CPU backend.
        "--no-enable-prefix-caching",
        "--language-model-only",
        model=model,
        dtype="bfloat16",
    ) as running:
        yield running


@pytest.fixture(scope="module")
def prompts() -> list[str]:
    return beginnings([one for language in LANGUAGES for one in documents(language)[:6]])


@pytest.fixture(scope="module")
def tables(model: Path) -> Tables:
    return read_tables(model)


@pytest.fixture(scope="module")
def stock(engine: Engine) -> bytes:
    return (engine.shm / STOCK_FILE).read_bytes()


@pytest.fixture(scope="module")
def first(engine: Engine, prompts: list[str]) -> Observation:
    return observe(engine, prompts)


def head_of(weights: bytes, model: Path, **changes: object) -> Head:
    head = new_head("mtp", "qwen3_5", read_config(model) | changes)
    head.load_checkpoint(decode(weights))
    return head


def listed(depths: list[DepthParity]) -> list[DepthParity]:
    """Print what is not equal, for the test's log."""
    for number, depth in enumerate(depths, start=1):
        print(f"depth {number}: {depth.equal} of {depth.total} equal, {depth.differences}")
    return depths


def is_the_engines(depths: list[DepthParity]) -> bool:
    return has_parity(depths, ROUNDED)


def test_stock_is_the_heads_part_of_the_checkpoint(
    engine: Engine, model: Path, stock: bytes
) -> None:
    page = engine.page()
    checkpoint = load_file(model / "model.safetensors")

    own = {name: value.float() for name, value in checkpoint.items() if name.startswith("mtp.")}
    found = decode(stock)
    assert page["adapting"], page["reason"]
    assert (page["observed"], page["observed_digest"]) == ("stock", content_digest(stock))
    assert (page["lineage"]["layout"], page["lineage"]["dtype"]) == ("qwen3_5", "bfloat16")
    assert found.keys() == own.keys()
    assert all(torch.equal(torch.from_numpy(found[name]), own[name]) for name in own)


def test_the_captured_tokens_are_the_prompts_and_the_answers(first: Observation) -> None:
    captured = sorted(tuple(row.tokens.tolist()) for row in first.rows)

    assert captured == sorted(answer.prompt + answer.output for answer in first.answers)


def test_the_offline_head_drafts_what_the_engine_drafted(
    stock: bytes, model: Path, tables: Tables, first: Observation
) -> None:
    depths = listed(parity(head_of(stock, model), tables, first.rows))

    assert is_the_engines(depths)


@pytest.mark.parametrize(
    "rotary",
    [
        pytest.param({"partial_rotary_factor": 1.0}, id="all-dimensions-rotated"),
        pytest.param({"rope_theta": 100.0}, id="another-base"),
    ],
)
def test_parity_fails_for_another_rotation(
    rotary: dict[str, float], stock: bytes, model: Path, tables: Tables, first: Observation
) -> None:
    rope = read_config(model)["rope_parameters"] | rotary

    other = head_of(stock, model, rope_parameters=rope)

    assert not is_the_engines(parity(other, tables, first.rows))


def test_parity_fails_when_any_one_tensor_is_another(
    stock: bytes, model: Path, tables: Tables, first: Observation
) -> None:
    unnoticed = [
        name
        for name in decode(stock)
        if is_the_engines(parity(noisy_head(stock, name, model), tables, first.rows[:12]))
    ]

    assert unnoticed == []


def noisy_head(stock: bytes, name: str, model: Path) -> Head:
    return head_of(with_noise(stock, share=1.0, only=name), model)


def test_parity_fails_when_drafts_see_each_others_chains(
    stock: bytes, model: Path, tables: Tables, first: Observation
) -> None:
    self_fed = [fed_with_own_drafts(row) for row in first.rows if row.complete]

    assert not is_the_engines(parity(head_of(stock, model), tables, self_fed))


def test_every_output_is_the_targets_choice_but_for_near_ties(
    tables: Tables, first: Observation
) -> None:
    gaps = torch.cat([choice_gaps(row, tables) for row in first.rows])

    print(f"{len(gaps)} tokens, {(gaps > 0).sum()} not the first choice, at most {gaps.max():.4f}")
    assert gaps.max() < ROUNDED.near_tie_sigmas


def test_a_swap_takes_effect_and_outputs_stay(
    engine: Engine,
    prompts: list[str],
    stock: bytes,
    model: Path,
    tables: Tables,
    first: Observation,
) -> None:
    other = with_noise(stock, share=0.5, dtype="bfloat16")

    engine.publish(other, content_digest(other), "version")
    swapped = observe(engine, prompts)
    engine.publish(stock, content_digest(stock), "stock")
    back = observe(engine, prompts)

    assert changed(first, swapped)
    assert not changed(first, back)
    assert {d.digest for row in swapped.rows for d in row.drafts.values()} == {
        content_digest(other)
    }
    assert is_the_engines(listed(parity(head_of(other, model), tables, swapped.rows)))
    assert not is_the_engines(parity(head_of(stock, model), tables, swapped.rows))
    for observation in (swapped, back):
        gaps = parting_gaps(first, observation, tables)
        print(f"{len(gaps)} of {len(prompts)} answers part, at gaps of {gaps}")
        assert all(gap < ROUNDED.near_tie_sigmas for gap in gaps)
    assert engine.page()["observed"] == "stock"


def choice_gaps(row: Rows, tables: Tables) -> torch.Tensor:
    """Return how far each output token is behind the target's first choice, in sigmas."""
    first = row.first_output_row
    logits = target_logits(row, tables)[first:]
    emitted = torch.from_numpy(row.tokens[first + 1 :]).long()
    gaps = logits.max(dim=-1).values - logits.gather(1, emitted[:, None])[:, 0]
    return gaps / logits.std(dim=-1)


def parting_gaps(one: Observation, other: Observation, tables: Tables) -> list[float]:
    """Return how far apart the target held the two tokens where answers part, in sigmas."""
    rows = {tuple(row.tokens.tolist()): row for row in one.rows}
    gaps = []
    for mine, theirs in zip(one.answers, other.answers, strict=True):
        place = first_difference(mine.output, theirs.output)
        if place is not None:
            row = rows[mine.prompt + mine.output]
            logits = target_logits(row, tables)[len(mine.prompt) - 1 + place]
            apart = logits[mine.output[place]] - logits[theirs.output[place]]
            gaps.append(float(apart.abs() / logits.std()))
    return gaps


def target_logits(row: Rows, tables: Tables) -> torch.Tensor:
    """Return the target's logits [rows, vocabulary]: this layout's hidden states are normed."""
    return pack([(row, range(row.rows))], depths=1).hidden @ tables.lm_head.T
