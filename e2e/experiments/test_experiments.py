"""Reports of the experiments say what was seen, and what does not hold."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from e2e import testing
from e2e.checks import Published, Revival
from e2e.cpu import cpu_seconds
from e2e.documents import LANGUAGES, documents, seen, unseen
from e2e.experiments import cost_report, elastic_report, shift_report
from e2e.experiments.disturbing import Happened
from e2e.experiments.options import MANIFEST
from e2e.fleets import prepare, write_manifest
from e2e.joining_engine import planned
from e2e.observing import Observer
from e2e.timeline import Count
from specfleet_cli.endpoints import Fleet


def observer_of(fleet: Fleet, counts: list[Count]) -> Observer:
    observer = Observer(fleet)
    observer.counts = counts
    observer.published = [Published(1.0, number, f"{number}" * 64) for number in range(3)]
    return observer


def adapting() -> Fleet:
    return testing.fleet(
        testing.worker("control-0", "control", train=False),
        testing.worker("push-0", "push", train=True),
        testing.worker("push-1", "push", train=True),
    )


def elastic_story(**errors: int) -> elastic_report.Seen:
    fleet = adapting()
    names = [worker.name for worker in fleet.workers]
    counts = [
        count
        for name, length in zip(names, (1.0, 1.5, 1.5), strict=True)
        for count in testing.counts(name, dict.fromkeys(range(1, 61), length))
    ]
    named = {name.replace("_", "-"): number for name, number in errors.items()}
    return elastic_report.Seen(
        fleet=fleet,
        observer=observer_of(fleet, counts),
        leg=testing.leg(60.0, *names, errors=named),
        happened=Happened([Revival("aggregator", 20.0, 3.0, "version 2 before, 2 after")]),
    )


WALKED = {"hi": {0: 1.0, 2: 1.4}, "py": {0: 1.2, 2: 1.1}}


def test_errors_of_the_killed_engine_are_no_failure_but_those_of_others_are() -> None:
    def passed(found: elastic_report.Seen) -> bool:
        return all(check.passed for check in elastic_report.checks(found, [0, 1, 2]))

    assert passed(elastic_story(push_1=9))
    assert not passed(elastic_story(push_0=1))
    assert not passed(elastic_story(control_0=1))


def test_the_elastic_report_holds_what_the_published_one_does() -> None:
    found = elastic_story()

    report = elastic_report.content(found, [0, 1, 2], WALKED)

    assert report["live_gain_percent"] == pytest.approx(50)
    assert report["aggregator_back_after_seconds"] == 3.0
    assert report["surviving_request_errors"] == 0
    assert report["held_out_gain_percent"]["Hindi"] == pytest.approx(40)
    assert "aggregator back after" in elastic_report.page(found, report)


def test_the_shift_report_compares_each_phases_last_version_with_stock() -> None:
    fleet = testing.fleet(*adapting().workers[:2])
    legs = tuple(
        replace(testing.leg(60.0, "control-0", "push-0"), began=at, ended=at + 60)
        for at in (0.0, 60.0, 120.0)
    )
    counts = [
        count
        for name, length in (("control-0", 1.0), ("push-0", 1.5))
        for count in testing.counts(name, dict.fromkeys(range(1, 181), length))
    ]
    found = shift_report.Seen(fleet, observer_of(fleet, counts), legs, (1, 2, 3))
    walked = {
        "hi": {0: 1.0, 1: 1.4, 2: 1.2, 3: 1.1},
        "py": {0: 1.0, 1: 0.9, 2: 1.3, 3: 1.0},
        "ja": {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.5},
    }

    report = shift_report.content(found, walked)

    assert report["held_out_gain_percent"][0] == pytest.approx([40, -10, 0])
    assert report["backward_transfer_points"] == pytest.approx(-30)
    assert report["worst_domain_percent"] == pytest.approx(0)
    assert report["live_gain_percent"] == pytest.approx([50, 50, 50])
    assert "after Japanese" in shift_report.page(found, report)


def test_the_cost_report_is_about_cpu_seconds_and_gives_wall_seconds_beside_them() -> None:
    fleet = testing.fleet(
        testing.worker("default-0", "default", train=False),
        testing.worker("train-only-0", "train-only", train=True),
        testing.worker("push-0", "push", train=True),
    )
    names = [worker.name for worker in fleet.workers]
    counts = [
        count
        for name, length in zip(names, (1.0, 1.0, 1.5), strict=True)
        for count in testing.counts(name, dict.fromkeys(range(1, 61), length))
    ]
    found = cost_report.Seen(
        fleet,
        observer_of(fleet, counts),
        testing.leg(60.0, *names),
        moments=[0, 20, 40, 60],
        cpu_seconds={
            "default": [5, 15, 25, 35],
            "train-only": [5, 17.5, 30, 42.5],
            "push": [5, 15, 25, 35],
        },
    )

    report = cost_report.content(found, [0, 1], seed=1)

    assert report["pipeline_cost_wall_percent"] == pytest.approx(0)
    assert report["pipeline_cost_percent"] == pytest.approx(-20)
    assert report["push_gain_percent"] == pytest.approx(50)
    assert "tokens / CPU s" in cost_report.page(found, report)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_document_is_both_seen_and_unseen(language: str) -> None:
    sent, kept = seen(language), unseen(language)

    assert not {one.id for one in sent} & {one.id for one in kept}
    assert len(sent) + len(kept) == len(documents(language))
    assert len(kept) >= 30


def test_an_engine_that_joins_is_the_next_of_the_last_cohort(tmp_path: Path) -> None:
    manifest = write_manifest(MANIFEST, tmp_path, change=lambda spec: None)
    fleet = replace(adapting(), aggregator_address="127.0.0.1:4321")

    worker = planned(manifest, fleet, tmp_path, tmp_path / "shm")

    assert worker.name == "push-1"
    assert worker.agent.environment["SPECFLEET_AGENT_AGGREGATOR"] == "127.0.0.1:4321"
    assert worker.cohort.train


def test_what_no_story_has_written_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()

    with pytest.raises(SystemExit, match="stays as it is"):
        prepare(tmp_path)

    assert (tmp_path / "thesis.txt").exists()


def test_cpu_seconds_are_those_of_the_whole_tree() -> None:
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", busy], start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while cpu_seconds(process.pid) < 0.3:
            assert time.monotonic() < deadline, "the child's time is not counted"
        assert cpu_seconds(os.getpid()) >= cpu_seconds(process.pid)
    finally:
        os.killpg(process.pid, 9)
        process.wait()
