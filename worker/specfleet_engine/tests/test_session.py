from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.pages import PageReader, PageWriter
from specfleet_engine.session import Session
from specfleet_engine.step import Scheduled
from specfleet_engine.tests.test_live import live

NOTHING = Scheduled(new=(), finished=(), request_ids=())


class Engine:
    """A session on a drafter of its own, and the page it writes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.drafter, _ = live(0)
        lineage = self.drafter.lineage("target")
        self.layout = Layout("mtp", "mimo", lineage.id, 8, "float32", 3)
        self.session = Session(
            directory=directory,
            layout=self.layout,
            lineage=lineage,
            live=self.drafter,
            capture=None,
            page=PageWriter.create(directory / "rank-0.page"),
        )
        self.session.start()

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
