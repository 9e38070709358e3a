from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageReader
from specfleet_engine.frontend import KEPT_REQUESTS, Finished, FrontendPage, finished
from specfleet_engine.request_names import LONGEST


@dataclass(frozen=True, slots=True)
class Told:
    """What vLLM tells of a request that waited 0.25 s, and then had a token each 0.5 s."""

    finish_reason: object = "stop"
    request_id: str | None = "cmpl-1-0"
    num_generation_tokens: int = 3
    num_preemptions: int = 0
    queued_time: float = 0.25
    prefill_time: float = 0.5
    inference_time: float = 1.5
    mean_time_per_output_token: float = 0.5


def test_a_finished_request_is_told_of_in_seconds_of_the_monotonic_clock() -> None:
    found = finished(Told(), now=100.0)

    assert found == Finished(
        request="cmpl-1-0",
        started=98.25,
        ended=100.0,
        failed=False,
        ttft_seconds=0.75,
        tpot_seconds=0.5,
        preemptions=0,
    )


def test_only_an_error_is_a_failure() -> None:
    reasons = ("stop", "length", "abort", "error", "repetition")

    failed = [finished(Told(reason), now=0.0).failed for reason in reasons]

    assert failed == [False, False, False, True, False]


def test_a_request_without_a_token_has_no_time_to_its_first() -> None:
    found = finished(Told("error", num_generation_tokens=0), now=100.0)

    assert found.ttft_seconds == 0.0


def read(directory: Path) -> dict[str, Any]:
    page = PageReader.attach(directory / FRONTEND_PAGE_FILE).read()
    assert page is not None
    return page


def test_the_page_is_there_before_any_request(tmp_path: Path) -> None:
    FrontendPage.create(tmp_path / "shm").start()

    assert read(tmp_path / "shm")["requests"] == []


def test_requests_come_onto_the_page_by_themselves(tmp_path: Path) -> None:
    page = FrontendPage.create(tmp_path)
    page.start()

    page.add(finished(Told(), now=100.0))

    deadline = time.monotonic() + 10
    while not read(tmp_path)["requests"]:
        assert time.monotonic() < deadline
    assert read(tmp_path)["requests"][0]["request"] == "cmpl-1-0"


def test_the_newest_requests_fit_however_long_their_names_are(tmp_path: Path) -> None:
    page = FrontendPage.create(tmp_path)

    for number in range(2 * KEPT_REQUESTS):
        name = f"{number}".ljust(LONGEST, "x")
        page.add(finished(Told(request_id=name, num_preemptions=10**9), now=1e9 / 3))
    page.write()

    names = [str(one["request"]).rstrip("x") for one in read(tmp_path)["requests"]]
    assert names == [str(number) for number in range(KEPT_REQUESTS, 2 * KEPT_REQUESTS)]
