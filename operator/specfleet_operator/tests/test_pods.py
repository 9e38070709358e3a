"""What keeps a pod from running, in the words of who found out."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_operator.pods import Pod, Trouble, pods


def read(status: dict[str, Any], **metadata: Any) -> Pod:
    """Return the one pod with this status."""
    item = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "demo-main-7",
            "uid": "u",
            "labels": {
                "app.kubernetes.io/component": "engine",
                "specfleet.dev/cohort": "main",
                "specfleet.dev/revision": "abc",
            },
            **metadata,
        },
        "status": status,
    }
    [pod] = pods([item, {"kind": "Service"}])
    return pod


def container(**state: Any) -> dict[str, Any]:
    """Return the status of a pod whose engine is in this state."""
    return {"phase": "Pending", "containerStatuses": [{"name": "engine", **state}]}


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}}, **more)


def test_a_pod_is_known_by_its_labels() -> None:
    pod = read({"conditions": [{"type": "Ready", "status": "True"}]})

    assert (pod.component, pod.cohort, pod.ordinal, pod.revision) == ("engine", "main", 7, "abc")
    assert pod.ready
    assert pod.trouble is None


def test_a_pod_that_is_going_is_not_ready() -> None:
    pod = read(
        {"conditions": [{"type": "Ready", "status": "True"}]},
        deletionTimestamp="2026-01-01T00:00:00Z",
    )

    assert (pod.ready, pod.terminating) == (False, True)


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        pytest.param(
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
                    }
                ]
            },
            Trouble("Unschedulable", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
            id="no-node",
        ),
        pytest.param(
            waiting("ImagePullBackOff", 'Back-off pulling image "x"'),
            Trouble("ImagePullBackOff", 'container engine waits: Back-off pulling image "x"'),
            id="no-image",
        ),
        pytest.param(
            waiting("CreateContainerConfigError", 'secret "s3" not found'),
            Trouble("CreateContainerConfigError", 'container engine waits: secret "s3" not found'),
            id="no-secret",
        ),
        pytest.param(
            waiting(
                "CrashLoopBackOff",
                "back-off 10s",
                lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            ),
            Trouble(
                "CrashLoopBackOff",
                "container engine waits: back-off 10s; ended with code 137 (OOMKilled)",
            ),
            id="crash-loop",
        ),
        pytest.param(
            container(
                state={"running": {}},
                ready=False,
                lastState={
                    "terminated": {"exitCode": 1, "reason": "Error", "message": "no\n  model"}
                },
            ),
            Trouble(
                "CrashLoopBackOff", "container engine was restarted; ended with code 1: no model"
            ),
            id="running-again-between-two-crashes",
        ),
        pytest.param(
            {
                "initContainerStatuses": [
                    {"name": "plugin", "state": {"terminated": {"exitCode": 2}}}
                ]
            },
            Trouble("Error", "container plugin ended with code 2"),
            id="init-container",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."},
            Trouble("Evicted", "The node was low on memory."),
            id="evicted",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "what is this?", "message": ""},
            Trouble("PodFailed", ""),
            id="a-reason-that-conditions-cannot-have",
        ),
    ],
)
def test_trouble(status: dict[str, Any], trouble: Trouble) -> None:
    assert read(status).trouble == trouble


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="new"),
        pytest.param(waiting("ContainerCreating"), id="creating"),
        pytest.param(waiting("PodInitializing"), id="initializing"),
        pytest.param(container(state={"running": {}}, ready=False), id="loading"),
        pytest.param(
            container(state={"running": {}}, ready=True, lastState={"terminated": {"exitCode": 1}}),
            id="over-it",
        ),
        pytest.param(
            {
                "initContainerStatuses": [
                    {"name": "plugin", "state": {"terminated": {"exitCode": 0}}}
                ]
            },
            id="done",
        ),
    ],
)
def test_a_pod_on_its_way_has_none(status: dict[str, Any]) -> None:
    assert read(status).trouble is None
