"""What runs for a manifest: commands, environments, directories."""

from __future__ import annotations

import json
from pathlib import Path

from specfleet_cli.plan import Kind, num_ports
from specfleet_cli.tests.fleets import fleet, planned
from specfleet_common.codecs.codec import Codec
from specfleet_common.store.location import Addressing, S3Location

COHORTS = [
    {"name": "control", "serve": "Stock"},
    {"name": "push", "replicas": 2, "train": True, "serve": "Local"},
]


def test_every_replica_of_every_cohort_has_an_engine_and_an_agent() -> None:
    todo = planned(spec__replicas=0, spec__cohorts=COHORTS)

    assert [process.name for process in todo.processes] == [
        "aggregator",
        "engine-control-0",
        "engine-push-0",
        "engine-push-1",
        "agent-control-0",
        "agent-push-0",
        "agent-push-1",
    ]
    assert len({process.url for process in todo.processes}) == len(todo.processes)


def test_ports_are_counted_as_they_are_used() -> None:
    assert num_ports(fleet(spec__replicas=2, spec__cohorts=COHORTS)) == 2 + 2 * 5


def test_an_engine_gets_the_target_and_the_users_arguments() -> None:
    todo = planned(
        spec__target={"model": "/m", "maxModelLen": 512, "dtype": "float32"},
        spec__engine__args=["--trust-remote-code", "--max-num-seqs", "16"],
    )

    assert todo.workers[0].engine.command == (
        *("/py", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m"),
        *("--host", "127.0.0.1", "--port", "5002", "--served-model-name", "tiny"),
        *("--dtype", "float32", "--max-model-len", "512", "--speculative-config"),
        '{"method": "mtp", "num_speculative_tokens": 3}',
        *("--trust-remote-code", "--max-num-seqs", "16"),
    )


def test_what_the_manifest_leaves_open_is_left_to_the_engine() -> None:
    command = planned().workers[0].engine.command

    assert "--dtype" not in command
    assert "--max-model-len" not in command


def test_the_aggregator_learns_from_a_file_what_the_manifest_says() -> None:
    todo = planned(spec__aggregation__codec="Ternary")

    name = "SPECFLEET_AGGREGATOR_SETTINGS_FILE"
    assert todo.aggregator.environment[name] == str(todo.settings_file) == "/out/settings.json"
    assert todo.settings.codec is Codec.TERNARY
    assert (todo.settings.fleet_uid, todo.settings.generation) == ("abc", 1)


def test_all_processes_that_call_the_aggregator_share_its_secret() -> None:
    todo = planned(spec__replicas=2)

    told = {
        todo.aggregator.environment["SPECFLEET_AGGREGATOR_TOKEN_FILE"],
        *(worker.agent.environment["SPECFLEET_AGENT_TOKEN_FILE"] for worker in todo.workers),
    }
    assert told == {str(todo.token_file)} == {"/out/token"}
    engines = [name for worker in todo.workers for name in worker.engine.environment]
    assert not any("TOKEN_FILE" in name for name in engines)


def test_an_agent_has_time_to_end_its_trainer_first() -> None:
    agent = planned().workers[0].agent

    assert agent.stop_seconds > 5.0


def test_only_training_engines_capture() -> None:
    todo = planned(spec__replicas=0, spec__cohorts=COHORTS)

    captures = [w.engine.environment["SPECFLEET_ENGINE_CAPTURE"] for w in todo.workers]
    assert captures == ["0", "1", "1"]


def test_the_users_variables_reach_the_engine_and_win_over_defaults() -> None:
    todo = planned(
        spec__engine__env=[
            {"name": "VLLM_CPU_KVCACHE_SPACE", "value": "1"},
            {"name": "HF_HUB_OFFLINE", "value": "0"},
        ]
    )

    environment = todo.workers[0].engine.environment
    assert environment["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert environment["HF_HUB_OFFLINE"] == "0"
    assert environment["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert environment["SPECFLEET_ENGINE_FLEET"] == "tiny"


def test_an_engine_and_its_agent_share_a_directory_that_no_other_has() -> None:
    todo = planned(spec__replicas=2)

    for worker in todo.workers:
        directory = str(Path("/dev/shm/x") / worker.name)
        assert worker.engine.environment["SPECFLEET_ENGINE_SHM_DIRECTORY"] == directory
        assert worker.agent.environment["SPECFLEET_AGENT_SHM_DIRECTORY"] == directory
    assert len({worker.shm_directory for worker in todo.workers}) == 2
    assert len({worker.worker_id for worker in todo.workers}) == 2


def test_agents_know_the_aggregator_and_their_cohort() -> None:
    todo = planned(spec__replicas=0, spec__cohorts=COHORTS)

    environment = todo.workers[1].agent.environment
    assert environment["SPECFLEET_AGENT_AGGREGATOR"] == todo.aggregator_address
    assert environment["SPECFLEET_AGENT_COHORT"] == "push"
    assert environment["SPECFLEET_AGENT_TRAIN"] == "true"
    assert environment["SPECFLEET_AGENT_SERVE"] == "Local"
    assert todo.aggregator.environment["SPECFLEET_AGGREGATOR_LISTEN"] == todo.aggregator_address


def test_a_fleet_in_a_bucket_has_a_place_of_its_own_there() -> None:
    s3 = {"endpoint": "https://s3.example.com", "bucket": "fleets"}

    plain = planned(spec__store={"s3": s3})
    chosen = planned(
        metadata={"name": "blue", "namespace": "prod"},
        spec__store={"s3": {**s3, "prefix": "a/b", "addressing": "Virtual", "caFile": "/ca"}},
    )

    assert plain.store == S3Location(
        endpoint="https://s3.example.com", bucket="fleets", prefix="default/tiny"
    )
    assert chosen.store == S3Location(
        endpoint="https://s3.example.com",
        bucket="fleets",
        prefix="a/b/prod/blue",
        addressing=Addressing.VIRTUAL,
        ca_file=Path("/ca"),
    )


def test_the_aggregator_is_told_of_exactly_one_store() -> None:
    s3 = {"endpoint": "https://s3.example.com", "bucket": "fleets"}

    in_directory = planned().aggregator.environment
    in_bucket = planned(spec__store={"s3": s3}).aggregator.environment

    assert in_directory["SPECFLEET_AGGREGATOR_STORE_DIRECTORY"] == "store"
    assert "SPECFLEET_AGGREGATOR_STORE_S3" not in in_directory
    assert "SPECFLEET_AGGREGATOR_STORE_DIRECTORY" not in in_bucket
    assert json.loads(in_bucket["SPECFLEET_AGGREGATOR_STORE_S3"]) == {
        **s3,
        "prefix": "default/tiny",
        "region": "us-east-1",
        "addressing": "Path",
    }


def test_logs_are_named_after_processes() -> None:
    for process in planned().processes:
        assert process.log == Path("/out/logs") / f"{process.name}.log"
        assert process.kind in Kind
