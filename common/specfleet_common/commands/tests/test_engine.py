"""What an engine is told on every substrate."""

from __future__ import annotations

from typing import Any

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.loading import parse_fleet
from specfleet_common.api.testing import manifest
from specfleet_common.commands.engine import engine_arguments, engine_environment, num_gpus


def fleet(**changes: Any) -> SpeculatorFleet:
    return parse_fleet(manifest(**changes), source="test")


def arguments(**changes: Any) -> tuple[str, ...]:
    return engine_arguments(fleet(**changes), model="/m", host="0.0.0.0", port=80)


def test_an_engine_without_gpus_is_told_nothing_of_them() -> None:
    found = arguments(spec__engine__args=["--max-num-seqs", "4"])

    assert "--tensor-parallel-size" not in found
    assert "--cudagraph-capture-sizes" not in found


def test_several_gpus_work_as_one() -> None:
    found = arguments(spec__engine__resources={"limits": {"amd.com/gpu": "4"}})

    assert found[found.index("--tensor-parallel-size") + 1] == "4"


def test_one_gpu_needs_no_word() -> None:
    one = {"limits": {"nvidia.com/gpu": 1}}

    assert num_gpus(fleet(spec__engine__resources=one)) == 1
    assert "--tensor-parallel-size" not in arguments(spec__engine__resources=one)


def test_the_users_arguments_come_last() -> None:
    found = arguments(
        spec__engine__args=["--max-num-seqs", "1"],
        spec__engine__resources={"limits": {"nvidia.com/gpu": 1}},
    )

    assert found[-4:] == ("--cudagraph-capture-sizes", "4", "--max-num-seqs", "1")


def test_values_that_a_cluster_has_are_left_to_it() -> None:
    source = {"secretKeyRef": {"name": "hub", "key": "offline"}}
    wanted = fleet(spec__engine__env=[{"name": "HF_HUB_OFFLINE", "valueFrom": source}])

    found = engine_environment(wanted, wanted.spec.all_cohorts[0], shm_directory="/s")

    assert "HF_HUB_OFFLINE" not in found


def test_only_engines_that_train_capture() -> None:
    wanted = fleet(spec__cohorts=[{"name": "control"}])

    captures = [
        engine_environment(wanted, cohort, shm_directory="/s")["SPECFLEET_ENGINE_CAPTURE"]
        for cohort in wanted.spec.all_cohorts
    ]

    assert captures == ["1", "0"]
