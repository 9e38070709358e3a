"""fleet.json is read back as it was written, and refused when it is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_cli.endpoints import EndpointsError, describe, read_fleet, write_fleet
from specfleet_cli.plan import Kind
from specfleet_cli.supervising import Phase, ProcessState
from specfleet_cli.tests.fleets import planned


def test_a_fleet_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    state = ProcessState("engine-main-0", Kind.ENGINE, Phase.READY, pid=12, starts=2)
    fleet = describe(planned(), {state.name: state}, pid=3)

    write_fleet(tmp_path / "fleet.json", fleet)

    assert read_fleet(tmp_path / "fleet.json") == fleet
    assert (fleet.workers[0].engine.pid, fleet.workers[0].engine.starts) == (12, 2)
    assert fleet.workers[0].agent.pid is None


def test_other_tools_learn_where_the_store_is(tmp_path: Path) -> None:
    s3 = {"endpoint": "https://s3.example.com", "bucket": "fleets"}
    planned_fleet = planned(spec__store={"s3": s3})

    write_fleet(tmp_path / "fleet.json", describe(planned_fleet, {}, pid=3))

    assert read_fleet(tmp_path / "fleet.json").store == planned_fleet.store


@pytest.mark.parametrize("content", [None, b"{}", b"not JSON"])
def test_another_file_is_refused_with_its_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "fleet.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(EndpointsError) as caught:
        read_fleet(path)

    assert str(path) in str(caught.value)
