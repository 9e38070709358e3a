"""The stat logger as vLLM finds, makes and calls it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from vllm.v1.engine import FinishReason
from vllm.v1.metrics.loggers import load_stat_logger_plugin_factories
from vllm.v1.metrics.stats import FinishedRequestStats, IterationStats

from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageReader
from specfleet_engine.stat_logger import StatLogger


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECFLEET_ENGINE_SHM_DIRECTORY", str(tmp_path / "shm"))
    monkeypatch.setenv("SPECFLEET_ENGINE_FLEET", "demo")
    return tmp_path / "shm"


def iteration(*finished: FinishedRequestStats) -> IterationStats:
    statistics = IterationStats()
    statistics.finished_requests.extend(finished)
    return statistics


def test_vllm_finds_it_by_its_entry_point() -> None:
    assert StatLogger in load_stat_logger_plugin_factories()


def test_it_tells_of_finished_requests(directory: Path) -> None:
    logger = StatLogger(None)

    logger.record(None, iteration(FinishedRequestStats(FinishReason.ERROR, "cmpl-1-0")))

    reader = PageReader.attach(directory / FRONTEND_PAGE_FILE)
    deadline = time.monotonic() + 10
    while not (page := reader.read() or {"requests": []})["requests"]:
        assert time.monotonic() < deadline
    assert (page["requests"][0]["request"], page["requests"][0]["failed"]) == ("cmpl-1-0", True)


def test_an_iteration_without_outputs_is_nothing(directory: Path) -> None:
    StatLogger(None).record(None, None)


def test_outside_of_a_fleet_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPECFLEET_ENGINE_SHM_DIRECTORY", raising=False)

    logger = StatLogger(None)

    logger.record(None, iteration(FinishedRequestStats(FinishReason.STOP, "cmpl-1-0")))


def test_an_engine_without_room_for_the_page_serves_on(directory: Path) -> None:
    directory.write_bytes(b"a file in the place of the directory")

    logger = StatLogger(None)

    logger.record(None, iteration(FinishedRequestStats(FinishReason.STOP, "cmpl-1-0")))


def test_statistics_of_another_vllm_do_not_stop_the_engine(directory: Path) -> None:
    logger = StatLogger(None)

    logger.record(None, object())

    logger.record(None, iteration(FinishedRequestStats(FinishReason.STOP, "cmpl-1-0")))
