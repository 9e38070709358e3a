"""The plugin in a real vLLM: what it captures is true, what it swaps takes effect, outputs stay.

Parity and the effective swap carry everything else, so each check is also shown to fail when the
thing it tests is broken on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2e.engines import MODEL, ROOT, Engine, running_engine
from e2e.observation import Observation, changed, observe
from e2e.parity import DEPTHS, fed_with_own_drafts, has_parity, parity, with_noise
from e2e.simulator.replies import ask, completion
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import BANK_FILE, STOCK_FILE
from specfleet_common.tensors import content_digest, decode
from specfleet_trainer.checkpoint import Tables, read_config, read_tables
from specfleet_trainer.heads import Head, new_head

pytestmark = pytest.mark.e2e

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


def test_every_band_has_its_time_of_drafting_and_of_all_else(
    engine: Engine, first: Observation
) -> None:
    costs = engine.page()["costs"]

    print(costs)
    assert len(costs["bands"]) > 1
    for band in costs["bands"]:
        low, high = 2 ** (band["band"] - 1), 2 ** band["band"] - 1
        assert low <= band["requests"] / band["steps"] <= high
        assert band["tokens"] <= (1 + DEPTHS) * band["requests"]
        assert band["draft_seconds"] > 0
        assert band["verify_seconds"] > 0
    # Prompts are tokens without requests, which is how the cost of a token is told apart.
    moments = costs["moments"]
    assert moments["tokens"] > (1 + DEPTHS) * moments["requests"]


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


def test_the_live_drafter_is_written_again_on_request_and_nothing_changes(
    engine: Engine, prompts: list[str], stock: bytes, first: Observation
) -> None:
    engine.publish(stock, content_digest(stock), "stock")
    before = engine.page()["swaps"]
    assert engine.bank is not None

    engine.bank.publish([stock], content_digest(stock), "stock", anew=True)
    page = engine.wait(lambda page: page["swaps"] > before, what="written again")
    again = observe(engine, prompts)

    assert (page["swaps"], page["observed"]) == (before + 1, "stock")
    assert again.answers == first.answers
    assert not changed(first, again)


def test_a_swap_that_does_nothing_would_be_noticed(
    engine: Engine, prompts: list[str], stock: bytes, tables: Tables, first: Observation
) -> None:
    """Traffic without a swap fails both checks that the swap above has passed."""
    worse = with_noise(stock, share=1.0)

    unchanged = observe(engine, prompts)

    assert not changed(first, unchanged)
    assert not has_parity(parity(head_of(worse), tables, unchanged.rows))


def test_pages_tell_which_drafters_worked_for_whom_across_a_swap(
    engine: Engine, prompts: list[str], stock: bytes, first: Observation
) -> None:
    other = with_noise(stock, share=0.1)
    digest = content_digest(other)
    before = {one["request"] for one in engine.page()["requests"]}

    with ThreadPoolExecutor(1) as pool:
        busy = engine.page()["capture"]["taken_rows"]
        during = pool.submit(engine.complete, prompts[:8], max_tokens=200)
        engine.wait(lambda page: page["capture"]["taken_rows"] > busy, what="answering")
        engine.publish(other, digest, "version")
        during.result()
    engine.complete(prompts[:4], max_tokens=48)
    page = engine.wait(
        lambda page: len({one["request"] for one in page["requests"]} - before) == 12,
        what="12 requests told of",
    )
    engine.publish(stock, content_digest(stock), "stock")

    told = {one["request"]: one for one in page["requests"] if one["request"] not in before}
    assert sorted(["stock", digest]) in [one["digests"] for one in told.values()]
    assert [one["digests"] for one in [*told.values()][-4:]] == [[digest]] * 4
    assert {one["request"] for one in engine.frontend()["requests"]} >= told.keys()
    (drafter,) = (one for one in page["drafters"] if one["digest"] == digest)
    worked = [band for band in drafter["bands"] if band["output_tokens"]]
    assert worked == drafter["bands"]
    assert all(band["busy_seconds"] > 0 for band in worked)
    assert sum(band["verify_steps"] for band in worked) == pytest.approx(
        drafter["verify_steps"], abs=8
    )


def test_several_answers_to_one_request_are_one_on_the_page(
    engine: Engine, prompts: list[str]
) -> None:
    body = completion(prompt=prompts[0], n=2, temperature=1.0, max_tokens=8)

    reply = ask(engine, "/v1/completions", body)

    ((frontend, rank),) = engine.told(f"{reply.json['id']}-0")
    assert len(reply.json["choices"]) == 2
    assert (frontend["failed"], rank["digests"]) == (False, ["stock"])


def test_a_bank_of_another_lineage_is_refused_and_serving_goes_on(
    engine: Engine, prompts: list[str], stock: bytes, first: Observation
) -> None:
    foreign = Layout("mtp", "mimo", "0" * 16, 128, "float32", DEPTHS)
    bank = BankWriter.create(engine.shm / BANK_FILE, foreign, slot_bytes=len(stock))

    bank.publish([stock], content_digest(stock), "version")
    page = engine.wait(lambda page: page["refused_banks"].get("layout"), what="refused")

    assert page["observed"] == "stock"
    assert engine.complete(prompts[:4], max_tokens=48) == first.answers[:4]
