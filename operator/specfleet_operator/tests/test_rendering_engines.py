"""The pods of engines, as they are rendered."""

from __future__ import annotations

from typing import Any

from specfleet_common.api.pods import OWN_VOLUMES
from specfleet_operator.rendering.engine_pod import engine_template
from specfleet_operator.tests.building import subject


def template(**changes: Any) -> dict[str, Any]:
    """Return the template of the main cohort."""
    wanted = subject(**changes)
    return engine_template(wanted, wanted.fleet.spec.all_cohorts[0])


def container(name: str, **changes: Any) -> dict[str, Any]:
    """Return one of the containers."""
    spec = template(**changes)["spec"]
    found = {one["name"]: one for one in spec["initContainers"] + spec["containers"]}
    return dict(found[name])


def environment(name: str, **changes: Any) -> dict[str, Any]:
    """Return the variables of a container that have a value of their own."""
    return {one["name"]: one.get("value") for one in container(name, **changes)["env"]}


def mounts(name: str, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return what a container sees, by volume."""
    return {one["name"]: one for one in container(name, **changes)["volumeMounts"]}


def argument(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def test_the_agent_is_a_sidecar_that_starts_before_the_engine_and_ends_after_it() -> None:
    spec = template()["spec"]

    assert [one["name"] for one in spec["initContainers"]] == ["plugin", "agent"]
    assert spec["initContainers"][1]["restartPolicy"] == "Always"
    assert [one["name"] for one in spec["containers"]] == ["engine"]


def test_the_agent_has_no_say_in_whether_the_engine_is_ready() -> None:
    assert "readinessProbe" not in container("agent")
    assert "livenessProbe" not in container("agent")


def test_a_worker_is_known_by_its_pod() -> None:
    [worker_id] = [v for v in container("agent")["env"] if v["name"].endswith("WORKER_ID")]

    assert worker_id["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.uid"}}


def test_engine_and_agent_share_memory_of_the_size_that_was_asked_for() -> None:
    volumes = template(engine__sharedMemory="3Gi")["spec"]["volumes"]

    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "3Gi"}} in volumes
    assert mounts("engine")["shm"]["mountPath"] == mounts("agent")["shm"]["mountPath"]
    directory = environment("engine")["SPECFLEET_ENGINE_SHM_DIRECTORY"]
    assert environment("agent")["SPECFLEET_AGENT_SHM_DIRECTORY"] == directory


def test_the_model_is_where_both_look_for_it() -> None:
    changes = {
        "target__model": "a/b",
        "target__source": {"persistentVolumeClaim": {"claimName": "c", "path": "x"}},
    }

    assert argument(container("engine", **changes)["args"], "--model") == "/models/a/b"
    assert environment("agent", **changes)["SPECFLEET_AGENT_MODEL"] == "/models/a/b"
    for name in ("engine", "agent"):
        model = mounts(name, **changes)["model"]
        assert (model["mountPath"], model["subPath"], model["readOnly"]) == ("/models", "x", True)


def test_the_trainer_is_stopped_before_the_kernel_stops_the_whole_container() -> None:
    limits = {"limits": {"memory": "4Gi"}}

    found = environment("agent", trainer__resources=limits)

    assert found["SPECFLEET_AGENT_TRAINER_MEMORY_BYTES"] == str((4096 - 256) * 2**20)
    assert "SPECFLEET_AGENT_TRAINER_MEMORY_BYTES" not in environment("agent")


def test_an_engine_is_given_time_to_drain_and_then_to_end() -> None:
    spec = template(engine__drainSeconds=60)["spec"]
    hook = container("engine", engine__drainSeconds=60)["lifecycle"]["preStop"]["exec"]["command"]

    assert spec["terminationGracePeriodSeconds"] == 90
    assert argument(hook, "--port") == "8000"
    assert argument(hook, "--seconds") == "60"
    shared = environment("engine")["SPECFLEET_ENGINE_SHM_DIRECTORY"]
    assert argument(hook, "--directory") == shared
    middleware = argument(container("engine")["args"], "--middleware")
    assert middleware == "specfleet_engine.closing.CloseWhileDraining"
    assert argument(container("engine")["args"], "--shutdown-timeout") == "15"
    assert "lifecycle" not in container("engine", engine__drainSeconds=0)


def test_the_plugin_comes_from_the_agents_image_and_first_on_pythons_path() -> None:
    mine = {"trainer__image": "mine", "engine__env": [{"name": "PYTHONPATH", "value": "/x"}]}

    assert container("plugin", **mine)["image"] == container("agent", **mine)["image"] == "mine"
    assert environment("engine", **mine)["PYTHONPATH"] == "/opt/specfleet/plugin:/x"
    assert environment("engine")["PYTHONPATH"] == mounts("engine")["plugin"]["mountPath"]


def test_kubernetes_expands_nothing_of_what_users_wrote() -> None:
    found = container(
        "engine",
        engine__args=["--chat-template", "$(HOME) $$ $"],
        engine__env=[{"name": "A", "value": "$(B)"}],
    )

    assert argument(found["args"], "--chat-template") == "$$(HOME) $$$$ $$"
    assert {"name": "A", "value": "$$(B)"} in found["env"]


def test_values_that_the_cluster_has_are_found_by_the_kubelet() -> None:
    reference = {"secretKeyRef": {"name": "hub", "key": "token"}}

    found = container("engine", engine__env=[{"name": "TOKEN", "valueFrom": reference}])

    assert found["env"][-1] == {"name": "TOKEN", "valueFrom": reference}


def test_no_variable_is_given_twice() -> None:
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    users = [
        {"name": "HOME", "value": "/mine"},
        {"name": "VLLM_CACHE_ROOT", "value": "/c"},
        {"name": "XDG_CACHE_HOME", "valueFrom": field},
        {"name": "HF_HUB_OFFLINE", "valueFrom": field},
    ]

    names = [one["name"] for one in container("engine", engine__env=users)["env"]]

    assert len(names) == len(set(names))
    assert environment("engine", engine__env=users)["HOME"] == "/mine"


def test_every_engine_has_its_own_directory_in_a_cache_of_all() -> None:
    shared = {"engine__cacheVolume": {"persistentVolumeClaim": {"claimName": "kernels"}}}

    cache = mounts("engine", **shared)["cache"]

    assert cache["subPathExpr"] == "$(SPECFLEET_POD_NAME)"
    assert "SPECFLEET_POD_NAME" in environment("engine", **shared)
    assert "subPathExpr" not in mounts("engine")["cache"]


def test_gpus_are_used_by_tensor_parallelism_with_graphs_for_the_concurrency() -> None:
    arguments = container(
        "engine",
        engine__resources={"limits": {"nvidia.com/gpu": 2}},
        engine__args=["--max-num-seqs", "4"],
    )["args"]

    assert argument(arguments, "--tensor-parallel-size") == "2"
    sizes = arguments[arguments.index("--cudagraph-capture-sizes") + 1 :][:3]
    assert sizes == ["4", "8", "16"]


def test_names_of_our_volumes_are_known_to_the_api_which_refuses_them_to_users() -> None:
    assert {volume["name"] for volume in template()["spec"]["volumes"]} <= set(OWN_VOLUMES)


def test_placement_is_passed_on_and_our_labels_stay() -> None:
    found = template(
        engine__pod={
            "labels": {"team": "a"},
            "annotations": {"x": "y"},
            "nodeSelector": {"gpu": "yes"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "topologySpreadConstraints": [{"maxSkew": 1}],
            "priorityClassName": "high",
            "runtimeClassName": "nvidia",
            "imagePullSecrets": [{"name": "registry"}],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "securityContext": {"runAsUser": 7},
        }
    )

    spec = found["spec"]
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["labels"]["specfleet.dev/cohort"] == "main"
    assert found["metadata"]["annotations"]["x"] == "y"
    assert spec["nodeSelector"] == {"gpu": "yes"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["topologySpreadConstraints"] == [{"maxSkew": 1}]
    assert (spec["priorityClassName"], spec["runtimeClassName"]) == ("high", "nvidia")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["volumes"][-1] == {"name": "data", "emptyDir": {}}
    assert spec["containers"][0]["volumeMounts"][-1]["mountPath"] == "/data"
    assert spec["securityContext"]["runAsUser"] == 7
    assert spec["securityContext"]["runAsNonRoot"] is True


def test_no_pod_talks_to_the_api_server_or_learns_of_other_services() -> None:
    spec = template()["spec"]

    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
