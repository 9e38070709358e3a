"""What goes wrong where drafters are trained and federated; serving never notices."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.kubernetes.fleet import AGENT, AGGREGATOR, Fleet, ready_since
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until

pytestmark = pytest.mark.cluster

TRAINING: Mapping[str, Any] = {"replicas": 1, "train": True, "serve": "Local"}
# In a container with the agent: its child is the trainer.
KILL_TRAINER = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        command = (process / "cmdline").read_bytes()
    except OSError:
        continue
    if b"specfleet_trainer" in command and int(process.name) != os.getpid():
        os.kill(int(process.name), signal.SIGKILL)
        print(process.name)
"""


def test_a_trainer_is_killed_twenty_times(fleet: Fleet) -> None:
    fleet.apply({**TRAINING, "replicas": 2})
    fleet.wait_until_ready()
    before = [ready_since(pod) for pod in fleet.pods()]
    killed = 0

    with traffic(fleet) as watch:
        watch.mark("killed")
        deadline = time.monotonic() + 240
        while killed < 20 and time.monotonic() < deadline:
            for pod in (f"{fleet.name}-main-0", f"{fleet.name}-main-1"):
                killed += len(fleet.python(pod, AGENT, KILL_TRAINER).split())
        window = watch.window("killed")

    assert killed >= 20
    assert [ready_since(pod) for pod in fleet.pods()] == before
    assert not any(fleet.restarts().values())
    assert_no_failures(window, minimum=40)
    assert_same_answers(window)


@pytest.mark.long
def test_a_trainer_that_takes_too_much_memory_is_parked(fleet: Fleet) -> None:
    # The agent ends it 256 MiB below the limit, where torch has not even begun to train.
    small = {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
    fleet.apply({**TRAINING, "trainer": {"resources": small}})
    fleet.wait_for("Serving", "True")
    before = [ready_since(pod) for pod in fleet.pods()]

    with traffic(fleet) as watch:
        watch.mark("parked")
        fleet.wait_for("Training", "False", "TrainerParked", seconds=180)
        window = watch.window("parked")

    assert [ready_since(pod) for pod in fleet.pods()] == before
    assert "memory" in fleet.kubectl("logs", f"{fleet.name}-main-0", "--container", AGENT)
    assert not any(fleet.restarts().values())
    assert_no_failures(window, minimum=40)


def test_the_aggregator_is_deleted_in_mid_round(fleet: Fleet) -> None:
    fleet.apply(TRAINING)
    fleet.wait_until_ready()

    with traffic(fleet) as watch:
        until(fleet.versions, lambda found: len(found) >= 2, what="version 1", seconds=120)
        watch.mark("deleted")
        before = len(fleet.versions())
        fleet.kubectl("delete", "pod", f"{fleet.name}-aggregator-0", "--wait=false")
        versions = until(
            fleet.versions, lambda found: len(found) >= before + 2, what="new versions", seconds=180
        )
        window = watch.window("deleted")

    assert versions == list(range(len(versions)))
    assert_no_failures(window, minimum=20)
    assert_same_answers(window)


@pytest.mark.long
def test_the_store_refuses_for_a_while(fleet: Fleet) -> None:
    fleet.s3.stop()
    try:
        fleet.apply({"replicas": 1})
        fleet.wait_for("Serving", "True")
        refused = fleet.wait_for("Aggregating", "False", "StoreUnreachable", seconds=120)
        with traffic(fleet) as watch:
            watch.until(requests=20, seconds=60)
            (window,) = watch.windows()
    finally:
        fleet.s3.start()

    fleet.wait_for("Ready", "True", seconds=180)
    assert until(fleet.versions, what="version 0", seconds=60) == [0]
    assert fleet.s3.endpoint.removeprefix("http://") in refused["message"]
    assert not any(fleet.restarts().values())
    assert_no_failures(window, minimum=20)


def test_wrong_credentials_are_put_right_without_a_restart(fleet: Fleet) -> None:
    secret = {"name": "s3-wrong"}
    fleet.s3.credentials(fleet.namespace, "s3-wrong", secret_key="wrong")
    store = {"s3": {"credentialsSecretRef": secret}}
    fleet.apply({"replicas": 1, "store": store})
    refused = fleet.wait_for("Aggregating", "False", "StoreUnreachable", seconds=120)

    fleet.s3.credentials(fleet.namespace, "s3-wrong")

    fleet.wait_for("Ready", "True", seconds=180)
    assert until(fleet.versions, what="version 0", seconds=60) == [0]
    assert "credentials" in refused["message"]
    assert not any(fleet.restarts().values())


def test_a_bucket_that_is_missing_is_named_and_may_come_later(fleet: Fleet) -> None:
    bucket = f"later-{fleet.namespace}"
    fleet.apply({"replicas": 1, "store": {"s3": {"bucket": bucket}}})
    refused = fleet.wait_for("Aggregating", "False", "StoreUnreachable", seconds=120)
    assert fleet.wait_for("Serving", "True")

    fleet.s3.make_bucket(bucket)

    fleet.wait_for("Ready", "True", seconds=180)
    assert bucket in refused["message"]
    assert not any(fleet.restarts().values())


def test_tokens_of_other_fleets_and_pods_are_refused(fleet: Fleet) -> None:
    fleet.apply({"replicas": 2})
    fleet.wait_until_ready()
    other = Fleet(fleet.cluster, fleet.s3, fleet.namespace, "other")
    other.apply({"replicas": 1})
    other.wait_until_ready()
    first, second = (pod["metadata"]["uid"] for pod in fleet.pods())
    pod = fleet.pods()[0]["metadata"]["name"]

    def ask(address: str, worker: str) -> str:
        return fleet.python(pod, AGENT, HEARTBEAT, address, worker).strip()

    own = f"{fleet.name}-{AGGREGATOR}.{fleet.namespace}.svc:50051"
    foreign = f"{other.name}-{AGGREGATOR}.{fleet.namespace}.svc:50051"

    assert ask(own, first) == "OK"
    assert ask(own, second) == "PERMISSION_DENIED"
    assert ask(foreign, first) == "UNAVAILABLE"  # its certificate is of another authority


# What an agent sends, with this pod's token, for any worker and to any aggregator.
HEARTBEAT = """
import pathlib, sys
import grpc
from specfleet_common.wire.codec import encode_heartbeat
from specfleet_common.wire.messages import Heartbeat, TrainerStatus
from specfleet_common.wire.v1.specfleet_pb2_grpc import AggregatorStub

address, worker = sys.argv[1:]
trust = pathlib.Path("/var/run/specfleet/trust/ca.crt").read_bytes()
token = pathlib.Path("/var/run/specfleet/token/token").read_text()
beat = Heartbeat(
    worker_id=worker, cohort="main", trains=False, lineage=None, stock_digest="", held=None,
    observed_digest="", swaps=0, trainer=TrainerStatus("off", 0, 0, 0, 0.0, ()), drafters=(),
    engine_problem="a test",
)
with grpc.secure_channel(address, grpc.ssl_channel_credentials(trust)) as channel:
    try:
        AggregatorStub(channel).Heartbeat(
            encode_heartbeat(beat),
            metadata=[("authorization", f"Bearer {token}")],
            timeout=10,
        )
        print("OK")
    except grpc.RpcError as error:
        print(error.code().name)
"""
