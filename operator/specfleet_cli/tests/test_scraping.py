from __future__ import annotations

import json
from pathlib import Path

from specfleet_cli.scraping import targets, write_targets
from specfleet_cli.tests.fleets import planned


def test_every_process_is_scraped_where_it_listens() -> None:
    plan = planned()

    found = list(targets(plan))

    addresses = {address for group in found for address in group["targets"]}
    assert addresses == {process.url.removeprefix("http://") for process in plan.processes}


def test_labels_say_what_a_cluster_would_say() -> None:
    plan = planned()

    engine, agent, *_, aggregator = (group["labels"] for group in targets(plan))

    worker = plan.workers[0]
    assert engine == {
        "namespace": "local",
        "fleet": plan.fleet,
        "container": "engine",
        "cohort": worker.cohort.name,
        "pod": worker.name,
    }
    assert agent == {**engine, "container": "agent"}
    assert aggregator == {
        "namespace": "local",
        "fleet": plan.fleet,
        "container": "aggregator",
        "pod": "aggregator",
    }


def test_the_file_holds_the_targets(tmp_path: Path) -> None:
    plan = planned()

    write_targets(tmp_path / "prometheus.json", plan)

    assert json.loads((tmp_path / "prometheus.json").read_text()) == list(targets(plan))
