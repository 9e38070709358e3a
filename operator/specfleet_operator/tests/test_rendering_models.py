"""The pods of engines that download their model from the hub."""

from __future__ import annotations

from typing import Any

from specfleet_operator.rendering.engine_pod import engine_template
from specfleet_operator.rendering.network import network_policies
from specfleet_operator.tests.building import subject
from specfleet_operator.tests.crds import HUB

REVISION = HUB["huggingFace"]["revision"]
KERNELS = {"persistentVolumeClaim": {"claimName": "kernels"}}


def spec(*, token: str | None = None, **changes: Any) -> dict[str, Any]:
    hub: dict[str, Any] = {"revision": REVISION}
    if token is not None:
        hub["tokenSecretRef"] = {"name": token}
    target = {"model": "owner/name", "source": {"huggingFace": hub}}
    wanted = subject(target=target, **changes)
    found: dict[str, Any] = engine_template(wanted, wanted.fleet.spec.all_cohorts[0])["spec"]
    return found


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    containers = {one["name"]: one for one in pod["initContainers"] + pod["containers"]}
    return dict(containers[name])


def model_mount(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in container(pod, name)["volumeMounts"] if one["name"] == "model")


def test_the_model_is_there_before_agent_and_engine_start() -> None:
    pod = spec()

    assert [one["name"] for one in pod["initContainers"]] == ["plugin", "model", "agent"]
    download = container(pod, "model")
    assert download["image"] == container(pod, "engine")["image"]
    assert download["command"][-6:] == [
        *("--repository", "owner/name", "--revision", REVISION),
        *("--directory", "/models/owner/name"),
    ]
    engine = container(pod, "engine")["args"]
    assert engine[engine.index("--model") + 1] == "/models/owner/name"


def test_only_the_download_writes_it() -> None:
    pod = spec()

    read_only = {
        name: model_mount(pod, name).get("readOnly", False) for name in ("model", "agent", "engine")
    }

    assert read_only == {"model": False, "agent": True, "engine": True}


def test_only_the_download_sees_the_token() -> None:
    pod = spec(token="hub")

    holders = [
        one["name"]
        for one in pod["initContainers"] + pod["containers"]
        if any("secretKeyRef" in str(variable) for variable in one.get("env", ()))
    ]

    assert holders == ["model"]
    reference = {"secretKeyRef": {"name": "hub", "key": "token"}}
    assert {"name": "HF_TOKEN", "valueFrom": reference} in container(pod, "model")["env"]


def test_a_proxy_or_a_mirror_of_the_hub_is_the_downloads_too() -> None:
    users = [
        {"name": "HF_ENDPOINT", "value": "https://mirror.example.com"},
        {"name": "HF_TOKEN", "value": "other"},
        {"name": "HOME", "value": "/mine"},
    ]

    variables = container(spec(token="hub", engine__env=users), "model")["env"]

    assert {"name": "HF_ENDPOINT", "value": "https://mirror.example.com"} in variables
    names = [one["name"] for one in variables]
    assert len(names) == len(set(names))


def test_the_pods_status_has_what_the_hub_said() -> None:
    download = container(spec(), "model")

    assert download["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_without_a_cache_the_model_goes_with_the_pod() -> None:
    volumes = spec()["volumes"]

    assert {"name": "model", "emptyDir": {}} in volumes


def test_in_a_cache_every_engine_has_its_own_copy() -> None:
    pod = spec(engine__cacheVolume=KERNELS)

    claim = {"claimName": "kernels"}
    assert {"name": "model", "persistentVolumeClaim": claim} in pod["volumes"]
    for name in ("model", "agent", "engine"):
        assert model_mount(pod, name)["subPathExpr"] == "$(SPECFLEET_POD_NAME)/model"
        names = [one["name"] for one in container(pod, name)["env"]]
        assert names.count("SPECFLEET_POD_NAME") == 1


def test_the_hub_can_be_reached_where_users_say_nothing_about_it() -> None:
    target = {"model": "owner/name", "source": HUB}
    to_hub = {"ports": [{"protocol": "TCP", "port": 443}]}

    open_, own, none = (
        network_policies(subject(**changes))[0]["spec"]["egress"]
        for changes in ({"target": target}, {"target": target, "networkPolicy__egressTo": []}, {})
    )

    assert to_hub in open_
    assert to_hub not in own
    assert to_hub not in none
