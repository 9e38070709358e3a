from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.pages import PageReader, PageWriter
from specfleet_engine.following import NewRequest
from specfleet_engine.session import Session
from specfleet_engine.step import Scheduled, Verified
from specfleet_engine.tests.test_live import live

NOTHING = Scheduled(new=(), finished=(), request_ids=(), num_tokens=0)


class Engine:
    """A session on a drafter of its own, and the page it writes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.drafter, _ = live(0)
        self.seconds = 0.0
        lineage = self.drafter.lineage("target")
        self.layout = Layout("mtp", "mimo", lineage.id, 8, "float32", 3)
        self.session = Session(
            directory=directory,
            layout=self.layout,
            lineage=lineage,
            live=self.drafter,
            capture=None,
            page=PageWriter.create(directory / "rank-0.page"),
            clock=lambda: self.seconds,
        )
        self.session.start()

    def step(self, *request_ids: str, new: bool = False, finished: tuple[str, ...] = ()) -> None:
        """Do a step of half a second, in which each request gets two of three drafted tokens."""
        ids = list(request_ids)
        begun = [NewRequest(name, [1], 0, 9, 0, frozenset(), name) for name in ids if new]
        self.session.step_begins(Scheduled(begun, finished, ids, len(ids) if new else 4 * len(ids)))
        rows = np.arange(len(ids), dtype=np.int64)
        self.session.verified(
            Verified(
                request_ids=ids,
                first=rows,
                last=rows,
                drafted=np.full(len(ids), 0 if new else 3, np.int64),
                sampled=np.full(len(ids), 1 if new else 3, np.int64),
                tokens=np.zeros(len(ids), np.int32),
                positions=rows,
                next_tokens=np.zeros(len(ids), np.int32),
                hidden=np.zeros((len(ids), 8), np.float32),
            )
        )
        self.seconds += 0.5
        self.session.step_ends()

    def bank(self) -> BankWriter:
        return BankWriter.create(self.directory / "weights.bank", self.layout, 1 << 16)

    def page(self) -> dict[str, Any]:
        page = PageReader.attach(self.directory / "rank-0.page").read()
        assert page is not None
        return page

    def until(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        deadline = time.monotonic() + 20
        while not condition(page := self.page()):
            assert time.monotonic() < deadline, page
            time.sleep(0.02)
        return page


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path)


def test_an_idle_engine_takes_up_what_is_in_the_bank(engine: Engine) -> None:
    other, _ = live(1)

    engine.bank().publish([other.stock], other.stock_digest, "version")

    page = engine.until(lambda page: page["swaps"] == 1)
    assert page["observed"] == page["observed_digest"] == other.stock_digest
    assert page["bank_sequence"] == 1


def test_the_page_says_of_which_engine_it_is_and_how_many_ranks_that_has(tmp_path: Path) -> None:
    drafter, _ = live(0)
    lineage = drafter.lineage("target")
    session = Session(
        directory=tmp_path,
        layout=Layout("mtp", "mimo", lineage.id, 8, "float32", 3),
        lineage=lineage,
        live=drafter,
        capture=None,
        page=PageWriter.create(tmp_path / "rank-1.page"),
        num_ranks=2,
        engine="tcp://127.0.0.1:9",
    )

    session.start()

    page = PageReader.attach(tmp_path / "rank-1.page").read()
    assert page is not None
    assert (page["engine"], page["num_ranks"]) == ("tcp://127.0.0.1:9", 2)


def test_weights_change_only_between_steps(engine: Engine) -> None:
    other, _ = live(1)
    bank = engine.bank()
    engine.session.step_begins(NOTHING)

    bank.publish([other.stock], other.stock_digest, "local")
    beats = engine.page()["beats"]
    within = engine.until(lambda page: page["beats"] > beats + 2)
    engine.session.step_ends()
    engine.session.step_begins(NOTHING)
    engine.session.step_ends()

    assert within["observed"] == "stock"
    assert engine.until(lambda page: page["swaps"])["observed"] == "local"


def test_going_back_before_the_swap_leaves_what_was_live(engine: Engine) -> None:
    other, _ = live(1)
    bank = engine.bank()
    engine.session.step_begins(NOTHING)
    bank.publish([other.stock], other.stock_digest, "version")
    beats = engine.page()["beats"]
    engine.until(lambda page: page["beats"] > beats + 2)

    bank.publish([engine.drafter.stock], engine.drafter.stock_digest, "stock")
    page = engine.until(lambda page: page["bank_sequence"] == 2)
    engine.session.step_ends()

    assert (page["observed"], page["swaps"]) == ("stock", 0)


def test_what_is_live_is_written_again_only_on_request(engine: Engine) -> None:
    bank, stock = engine.bank(), engine.drafter
    bank.publish([stock.stock], stock.stock_digest, "stock")
    engine.until(lambda page: page["bank_sequence"] == 1)

    bank.publish([stock.stock], stock.stock_digest, "stock", anew=True)

    page = engine.until(lambda page: page["bank_sequence"] == 2)
    assert (page["observed"], page["swaps"]) == ("stock", 1)


def test_weights_that_do_not_fit_are_refused_and_counted(engine: Engine) -> None:
    from safetensors.torch import load, save

    from specfleet_common.tensors import content_digest

    tensors = load(live(1)[0].stock)
    name = "model.mtp_layers.0.self_attn.q_proj.weight"
    data = save(tensors | {name: tensors[name][:, :4].contiguous()})

    engine.bank().publish([data], content_digest(data), "version")

    page = engine.until(lambda page: page["refused_banks"])
    assert page["refused_banks"] == {"weights": 1}
    assert (page["observed"], page["adapting"]) == ("stock", True)


def test_a_failure_in_a_step_stops_adapting_and_says_why(engine: Engine) -> None:
    engine.session.step_begins(NOTHING)

    engine.session.fail(RuntimeError("broken"))

    page = engine.until(lambda page: not page["adapting"])
    assert page["reason"] == "RuntimeError: broken"


def test_bands_have_the_time_and_the_tokens_of_their_steps(engine: Engine) -> None:
    engine.step("a", "b", new=True)
    engine.step("a", "b")
    engine.step("a", finished=("b",))

    page = engine.until(lambda page: page["drafters"] and len(page["drafters"][0]["bands"]) == 2)
    (stock,) = page["drafters"]
    assert stock["digest"] == "stock"
    assert stock["bands"] == [
        {"band": 1, "verify_steps": 1, "output_tokens": 3, "busy_seconds": 0.5},
        {"band": 2, "verify_steps": 2, "output_tokens": 8, "busy_seconds": 1.0},
    ]


def test_a_request_that_outlived_a_swap_is_told_of_with_both_drafters(engine: Engine) -> None:
    other, _ = live(1)
    engine.step("early", "late", new=True)
    engine.step("late", finished=("early",))
    engine.bank().publish([other.stock], other.stock_digest, "version")
    engine.until(lambda page: page["swaps"] == 1)

    engine.step("late")
    engine.session.step_begins(Scheduled((), ("late",), (), 0))
    engine.session.step_ends()

    page = engine.until(lambda page: len(page["requests"]) == 2)
    assert [(one["request"], one["digests"]) for one in page["requests"]] == [
        ("early", ["stock"]),
        ("late", sorted(["stock", other.stock_digest])),
    ]
    assert [one["ended"] for one in page["requests"]] <= [time.monotonic()] * 2
