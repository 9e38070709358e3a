"""The simulator does what vLLM with the plugin does: the same assertions hold for both.

Those about the simulator run with the unit tests; `-m e2e` runs the same ones against a real vLLM
and compares the two.
"""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e.engines import Engine, running_engine
from e2e.simulator.replies import (
    MAX_TOKENS,
    PROMPTS,
    Reply,
    ask,
    chat,
    completion,
    families,
    paths,
    samples,
)
from e2e.simulator.running import simulated
from specfleet_agent.engine_page import decode as decode_page
from specfleet_common.judge.records import batch_band
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import BANK_FILE, DRAINING_FILE, STOCK_FILE
from specfleet_common.tensors import content_digest, decode, encode
from specfleet_engine.request_names import page_name

END_SECONDS = 45.0


@contextmanager
def running(folder: Path, environment: Mapping[str, str]) -> Iterator[Engine]:
    """Run an engine that sends clients away, with a chat template, which the small model lacks."""
    template = folder / "chat.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    with running_engine(
        folder,
        *("--chat-template", str(template)),
        *("--middleware", "specfleet_engine.closing.CloseWhileDraining"),
        *("--shutdown-timeout", "30"),
        environment=environment,
    ) as engine:
        yield engine


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running(tmp_path_factory.mktemp("simulator"), simulated(environ)) as engine:
        yield engine


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running(tmp_path_factory.mktemp("vllm"), {}) as engine:
        yield engine


@pytest.fixture(params=["simulator", pytest.param("vllm", marks=pytest.mark.e2e)])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


# The API.


def test_the_engine_names_its_model(engine: Engine) -> None:
    reply = ask(engine, "/v1/models")

    (card,) = reply.json["data"]
    assert (card["id"], card["object"], card["max_model_len"]) == ("tiny", "model", 512)


def test_health_is_an_empty_yes(engine: Engine) -> None:
    reply = ask(engine, "/health")

    assert (reply.status, reply.text) == (200, "")


def test_a_completion_is_counted_and_ends_for_a_reason(engine: Engine) -> None:
    reply = ask(engine, "/v1/completions", completion(return_token_ids=True, ignore_eos=True))

    (choice,) = reply.json["choices"]
    usage = reply.json["usage"]
    assert reply.json["object"] == "text_completion"
    assert reply.json["id"].startswith("cmpl-")
    assert choice["finish_reason"] == "length"
    assert len(choice["token_ids"]) == usage["completion_tokens"] == MAX_TOKENS
    assert len(choice["prompt_token_ids"]) == usage["prompt_tokens"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + MAX_TOKENS


def test_the_same_prompt_has_the_same_answer(engine: Engine) -> None:
    replies = [ask(engine, "/v1/completions", completion()) for _ in range(2)]

    first, second = (reply.json["choices"][0]["text"] for reply in replies)
    assert first == second != ""


def test_several_prompts_have_a_choice_each(engine: Engine) -> None:
    reply = ask(engine, "/v1/completions", completion(prompt=PROMPTS[:2], ignore_eos=True))

    assert [choice["index"] for choice in reply.json["choices"]] == [0, 1]
    assert reply.json["usage"]["completion_tokens"] == 2 * MAX_TOKENS


def test_a_streamed_completion_is_the_whole_one_in_pieces(engine: Engine) -> None:
    whole = ask(engine, "/v1/completions", completion()).json

    reply = ask(
        engine,
        "/v1/completions",
        completion(stream=True, stream_options={"include_usage": True}),
    )

    *pieces, last = reply.events
    assert reply.content_type == "text/event-stream"
    assert len(pieces) > 1
    assert "".join(p["choices"][0]["text"] for p in pieces) == whole["choices"][0]["text"]
    assert [p["choices"][0]["finish_reason"] for p in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


def test_a_streamed_chat_is_the_whole_one_in_pieces(engine: Engine) -> None:
    whole = ask(engine, "/v1/chat/completions", chat()).json

    reply = ask(engine, "/v1/chat/completions", chat(stream=True))

    first, *pieces = reply.events
    message = whole["choices"][0]["message"]
    assert whole["object"] == "chat.completion"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert {piece["object"] for piece in pieces} == {"chat.completion.chunk"}
    assert message["role"] == "assistant"
    assert "".join(p["choices"][0]["delta"]["content"] for p in pieces) == message["content"]
    assert pieces[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]


@pytest.mark.parametrize(
    ("body", "status", "kind", "param"),
    [
        pytest.param({"model": "other"}, 404, "NotFoundError", "model", id="another-model"),
        pytest.param({"max_tokens": 0}, 400, "BadRequestError", "max_tokens", id="no-tokens"),
        pytest.param({"max_tokens": 513}, 400, "BadRequestError", "max_tokens", id="too-long"),
        pytest.param({"prompt": ""}, 400, "BadRequestError", "prompt", id="no-prompt"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    engine: Engine, body: dict[str, Any], status: int, kind: str, param: str
) -> None:
    reply = ask(engine, "/v1/completions", completion(**body))

    error = reply.json["error"]
    assert (reply.status, error["code"]) == (status, status)
    assert (error["type"], error["param"]) == (kind, param)


def test_connections_are_kept_alive_until_the_engine_drains(engine: Engine) -> None:
    address = engine.url.removeprefix("http://")
    (engine.shm / DRAINING_FILE).unlink(missing_ok=True)
    with closing(http.client.HTTPConnection(address, timeout=10)) as connection:
        kept = connection_after(connection)
        (engine.shm / DRAINING_FILE).touch()
        closed = connection_after(connection)
    (engine.shm / DRAINING_FILE).unlink()

    assert kept is None
    assert closed == "close"


def connection_after(connection: http.client.HTTPConnection) -> str | None:
    """Return what an answer says about its connection."""
    connection.request(
        "POST", "/v1/completions", json.dumps(completion()), {"Content-Type": "application/json"}
    )
    reply = connection.getresponse()
    reply.read()
    return reply.headers.get("Connection")


# The metrics.


def test_the_metrics_tell_what_was_done(engine: Engine) -> None:
    before = samples(engine)

    for prompt in PROMPTS:
        ask(engine, "/v1/completions", completion(prompt=prompt, ignore_eos=True))

    deadline = time.monotonic() + 10
    done = ("vllm:request_success_total", "length")
    while (after := samples(engine))[done] < before[done] + len(PROMPTS):
        assert time.monotonic() < deadline, after
    grown = {key: value - before[key] for key, value in after.items() if key in before}
    positions = [
        grown["vllm:spec_decode_num_accepted_tokens_per_pos_total", str(at)] for at in range(3)
    ]
    assert grown["vllm:generation_tokens_total", ""] == len(PROMPTS) * MAX_TOKENS
    assert grown["vllm:time_to_first_token_seconds_count", ""] == len(PROMPTS)
    assert grown["vllm:request_time_per_output_token_seconds_count", ""] == len(PROMPTS)
    assert grown["vllm:spec_decode_num_drafts_total", ""] > 0
    assert (
        grown["vllm:spec_decode_num_draft_tokens_total", ""]
        == 3 * grown["vllm:spec_decode_num_drafts_total", ""]
    )
    assert sum(positions) == grown["vllm:spec_decode_num_accepted_tokens_total", ""]
    assert positions == sorted(positions, reverse=True)
    assert after["vllm:num_requests_running", ""] == after["vllm:num_requests_waiting", ""] == 0
    assert grown["vllm:num_preemptions_total", ""] == 0


# Shared memory.


def test_the_page_beats_and_says_what_runs(engine: Engine) -> None:
    stock = (engine.shm / STOCK_FILE).read_bytes()
    first = engine.page()

    page = engine.wait(lambda page: page["beats"] > first["beats"] + 2, what="beating")

    assert (page["adapting"], page["reason"]) == (True, "")
    assert (page["observed"], page["observed_digest"]) == ("stock", content_digest(stock))
    assert decode_page(page).stock_digest == content_digest(stock)


def test_the_page_counts_what_the_metrics_count(engine: Engine) -> None:
    engine.complete(PROMPTS, max_tokens=MAX_TOKENS)

    steps, accepted = engine.counted()

    counted = samples(engine)
    assert steps == counted["vllm:spec_decode_num_drafts_total", ""]
    assert accepted == counted["vllm:spec_decode_num_accepted_tokens_total", ""]


def bands(engine: Engine) -> dict[int, dict[str, Any]]:
    """Return what the stock drafter has done by batch band, everything up to now counted."""
    engine.counted()
    (stock,) = (one for one in engine.page()["drafters"] if one["digest"] == "stock")
    return {one["band"]: one for one in stock["bands"]}


def test_a_band_has_the_steps_the_tokens_and_the_time_of_batches_of_its_size(
    engine: Engine,
) -> None:
    engine.complete(PROMPTS, max_tokens=MAX_TOKENS)
    before = bands(engine)

    (answer,) = engine.complete(PROMPTS[:1], max_tokens=MAX_TOKENS)
    after = bands(engine)

    assert set(before) <= {batch_band(number) for number in range(1, len(PROMPTS) + 1)}
    alone, others = after.pop(batch_band(1)), {**before}
    others.pop(batch_band(1), None)
    assert after == others
    earlier = before.get(batch_band(1), dict.fromkeys(alone, 0))
    tokens = alone["output_tokens"] - earlier["output_tokens"]
    # What a draft has beyond the end of its answer is verified too.
    assert len(answer.output) <= tokens <= len(answer.output) + 3
    assert 0 < alone["verify_steps"] - earlier["verify_steps"] < tokens
    assert alone["busy_seconds"] > earlier["busy_seconds"]


def test_all_bands_together_have_all_verify_steps(engine: Engine) -> None:
    engine.complete(PROMPTS, max_tokens=MAX_TOKENS)

    of_bands = bands(engine)

    (stock,) = (one for one in engine.page()["drafters"] if one["digest"] == "stock")
    assert sum(one["verify_steps"] for one in of_bands.values()) == stock["verify_steps"]
    assert sum(one["busy_seconds"] for one in of_bands.values()) <= stock["busy_seconds"] + 1e-6


def test_both_pages_know_a_request_by_the_id_in_its_answer(engine: Engine) -> None:
    completed = ask(engine, "/v1/completions", completion(prompt=PROMPTS[:2])).json["id"]
    chatted = ask(engine, "/v1/chat/completions", chat()).json["id"]

    told = engine.told(f"{completed}-0", f"{completed}-1", chatted)

    assert [rank["digests"] for _, rank in told] == [["stock"]] * 3
    assert [frontend["failed"] for frontend, _ in told] == [False] * 3


@pytest.mark.parametrize("name", ["mine", "1_mine-0a1b2c3d", "mine" * 100])
def test_both_pages_know_a_request_by_the_clients_own_name(engine: Engine, name: str) -> None:
    ask(engine, "/v1/completions", completion(), **{"X-Request-Id": name})

    ((frontend, _),) = engine.told(page_name(f"cmpl-{name}-0"))

    assert not frontend["failed"]


def test_the_frontend_page_tells_when_and_how_fast_a_request_was_served(engine: Engine) -> None:
    began = time.monotonic()
    reply = ask(engine, "/v1/completions", completion(ignore_eos=True)).json
    ended = time.monotonic()

    ((frontend, rank),) = engine.told(f"{reply['id']}-0")

    decoding = frontend["tpot_seconds"] * (MAX_TOKENS - 1)
    assert began < frontend["started"] < frontend["ended"] < ended
    assert began < rank["ended"] < time.monotonic()
    assert frontend["ttft_seconds"] > 0
    assert frontend["tpot_seconds"] > 0
    assert frontend["ttft_seconds"] + decoding == pytest.approx(
        frontend["ended"] - frontend["started"], rel=0.01, abs=0.001
    )
    assert frontend["preemptions"] == 0


def test_every_followed_request_is_captured_from_its_prompt_to_its_end(engine: Engine) -> None:
    engine.captured(requests=1 << 30, seconds=1)

    answers = engine.complete(PROMPTS, max_tokens=MAX_TOKENS)
    rows = engine.captured(requests=len(PROMPTS))

    assert sorted(tuple(row.tokens.tolist()) for row in rows) == sorted(
        answer.prompt + answer.output for answer in answers
    )
    assert all(row.complete for row in rows)
    assert all(len(row.drafts) > 1 and row.hidden.shape[1] == 128 for row in rows)
    assert {d.digest for row in rows for d in row.drafts.values()} == {"stock"}


def changed_weights(engine: Engine, *, seed: int) -> bytes:
    """Return the stock drafter's weights with some noise."""
    rng = np.random.default_rng(seed)
    stock = decode((engine.shm / STOCK_FILE).read_bytes())
    return encode(
        {
            name: (value + 0.01 * rng.standard_normal(value.shape)).astype(np.float32)
            for name, value in stock.items()
        }
    )


def test_published_weights_are_observed_and_counted_under_their_digest(engine: Engine) -> None:
    stock = (engine.shm / STOCK_FILE).read_bytes()
    weights = changed_weights(engine, seed=1)
    digest = content_digest(weights)
    before = engine.complete(PROMPTS, max_tokens=MAX_TOKENS)

    engine.publish(weights, digest, "version")
    after = engine.complete(PROMPTS, max_tokens=MAX_TOKENS)
    engine.counted()
    page = engine.page()
    engine.publish(stock, content_digest(stock), "stock")

    (drafter,) = (one for one in page["drafters"] if one["digest"] == digest)
    assert after == before
    assert (page["observed"], page["swaps"], page["bank_sequence"]) == (digest, 1, 1)
    assert drafter["verify_steps"] == drafter["drafted"][0] > 0
    assert drafter["accepted"] == sorted(drafter["accepted"], reverse=True)
    assert drafter["output_tokens"] == drafter["verify_steps"] + sum(drafter["accepted"])
    assert drafter["busy_seconds"] > 0


def test_local_weights_are_counted_as_local(engine: Engine) -> None:
    stock = (engine.shm / STOCK_FILE).read_bytes()
    weights = changed_weights(engine, seed=2)

    engine.publish(weights, content_digest(weights), "local")
    engine.complete(PROMPTS[:1], max_tokens=MAX_TOKENS)
    engine.counted()
    page = engine.page()
    engine.publish(stock, content_digest(stock), "stock")

    assert page["observed"] == "local"
    assert "local" in {drafter["digest"] for drafter in page["drafters"]}


def test_weights_of_another_shape_are_refused(engine: Engine) -> None:
    assert engine.bank is not None
    weights = decode((engine.shm / STOCK_FILE).read_bytes())
    name = min(weights)
    data = encode({**weights, name: weights[name][:-1]})

    engine.bank.publish([data], content_digest(data), "version")
    page = engine.wait(lambda page: page["refused_banks"].get("weights"), what="refused")

    assert page["observed"] == "stock"
    assert page["adapting"]


def test_a_bank_of_another_lineage_is_refused_and_serving_goes_on(engine: Engine) -> None:
    before = engine.complete(PROMPTS[:1], max_tokens=MAX_TOKENS)
    weights = changed_weights(engine, seed=3)
    layout = Layout("mtp", "mimo", "0" * 16, 128, "float32", 3)

    foreign = BankWriter.create(engine.shm / BANK_FILE, layout, slot_bytes=2 * len(weights))
    foreign.publish([weights], content_digest(weights), "version")
    page = engine.wait(lambda page: page["refused_banks"].get("layout"), what="refused")

    assert page["observed"] == "stock"
    assert engine.complete(PROMPTS[:1], max_tokens=MAX_TOKENS) == before


# The two beside each other.


def fields(engine: Engine) -> set[str]:
    """Return the names of what is told of drafters and requests, at least one request made."""
    reply = ask(engine, "/v1/completions", completion()).json
    engine.told(f"{reply['id']}-0")
    page = engine.page()
    return paths([page["drafters"], page["requests"], engine.frontend()["requests"]])


@pytest.mark.e2e
def test_both_have_the_same_lineage_and_the_same_stock_drafter(
    simulator: Engine, vllm: Engine
) -> None:
    simulated, real = decode_page(simulator.page()), decode_page(vllm.page())

    assert simulated.layout == real.layout
    assert simulated.lineage == real.lineage
    assert simulated.stock_digest == real.stock_digest
    assert simulator.page().keys() == vllm.page().keys()
    assert simulator.frontend().keys() == vllm.frontend().keys()
    assert fields(simulator) == fields(vllm)


@pytest.mark.e2e
def test_the_simulators_metrics_have_vllms_names_labels_and_buckets(
    simulator: Engine, vllm: Engine
) -> None:
    simulated, real = families(simulator), families(vllm)

    unlike = {name: (kind, real.get(name)) for name, kind in simulated.items()}
    assert simulated
    assert {name: both for name, both in unlike.items() if both[0] != both[1]} == {}


@pytest.mark.e2e
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", ["completion", "chat"])
def test_the_simulators_answers_have_only_fields_that_vllms_have(
    simulator: Engine, vllm: Engine, kind: str, stream: bool
) -> None:
    path, body = {
        "completion": ("/v1/completions", completion()),
        "chat": ("/v1/chat/completions", chat()),
    }[kind]
    body |= {"stream": True, "stream_options": {"include_usage": True}} if stream else {}

    simulated, real = (ask(engine, path, body) for engine in (simulator, vllm))

    if stream:
        ours, theirs = ({p for e in r.events for p in paths(e)} for r in (simulated, real))
    else:
        ours, theirs = paths(simulated.json), paths(real.json)
    assert ours - theirs == set()


# The end: the engine is gone after this test.


def test_at_sigterm_requests_under_way_are_finished_and_the_exit_code_is_0(engine: Engine) -> None:
    """Within --shutdown-timeout; without one vLLM aborts them, or leaves them without an answer."""
    replies: list[Reply] = []
    body = completion(max_tokens=200, ignore_eos=True)
    running = ("vllm:num_requests_running", "")
    asking = threading.Thread(
        target=lambda: replies.append(ask(engine, "/v1/completions", body)), daemon=True
    )
    asking.start()
    deadline = time.monotonic() + 10
    while not samples(engine)[running]:
        assert time.monotonic() < deadline, "the request does not run"

    engine.process.send_signal(signal.SIGTERM)
    asking.join(END_SECONDS)
    exit_code = engine.process.wait(END_SECONDS)

    assert [(r.status, r.json["choices"][0]["finish_reason"]) for r in replies] == [(200, "length")]
    assert exit_code == 0
    assert not engine.is_up()
