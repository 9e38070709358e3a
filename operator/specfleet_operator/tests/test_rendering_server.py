"""What a real API server makes of the objects of a fleet: it takes them, and all is at rest."""

from __future__ import annotations

import copy
import secrets
from typing import Any

import pytest

from specfleet_operator.kinds import kind_of
from specfleet_operator.naming import FIELD_MANAGER
from specfleet_operator.observed import Object, Observed, key_of
from specfleet_operator.planning import Plan, plan
from specfleet_operator.tests.building import FACTS, NOW, TRUST, fleet
from specfleet_operator.tests.crds import HUB, CustomResources

FOUND = [
    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
]
TOKEN = {"name": "hub"}
EVERYTHING: dict[str, Any] = {
    "replicas": 2,
    "cohorts": [{"name": "control", "serve": "Stock", "replicas": 0}],
    "target__source": {"persistentVolumeClaim": {"claimName": "models", "path": "a/b"}},
    "target__dtype": "bfloat16",
    "engine": {
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--max-num-seqs", "16", "--chat-template", "$(x) {{ y }}"],
        "env": [{"name": "EMPTY", "value": ""}, {"name": "PYTHONPATH", "value": "/more"}, *FOUND],
        "resources": {
            "limits": {"cpu": "1500m", "memory": "2048Mi", "nvidia.com/gpu": 2},
            "requests": {"cpu": "0.5", "memory": "1e9"},
        },
        "sharedMemory": "1024Mi",
        "cacheVolume": {"persistentVolumeClaim": {"claimName": "kernels"}},
        "pod": {
            "labels": {"team": "a"},
            "annotations": {"example.com/x": "y"},
            "nodeSelector": {"gpu": "yes"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}, {"operator": "Exists"}],
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "podAffinityTerm": {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {},
                            },
                        }
                    ]
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"team": "a"}},
                }
            ],
            "imagePullSecrets": [{"name": "registry"}],
            "volumes": [
                {
                    "name": "about",
                    "downwardAPI": {
                        "items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]
                    },
                }
            ],
            "volumeMounts": [{"name": "about", "mountPath": "/about", "readOnly": False}],
        },
    },
    "trainer__resources": {"limits": {"cpu": "2", "memory": "3Gi"}},
    "networkPolicy": {
        "ingressFrom": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "egressTo": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}],
    },
}

FLEETS = pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="smallest"),
        pytest.param(EVERYTHING, id="everything"),
        pytest.param(
            {
                "target__source": {"hostPath": {"path": "/models"}},
                "store__s3__caSecretRef": {"name": "ca"},
                "networkPolicy": {"ingressFrom": [], "egressTo": []},
                "engine__drainSeconds": 0,
                "replicas": 0,
                "train": False,
            },
            id="other-ways",
        ),
        pytest.param(
            {
                "target": {
                    "model": "owner/name",
                    "source": {"huggingFace": {**HUB["huggingFace"], "tokenSecretRef": TOKEN}},
                },
                "engine__cacheVolume": {"persistentVolumeClaim": {"claimName": "engines"}},
                "engine__env": FOUND,
                "aggregation__tlsSecretRef": {"name": "own"},
            },
            id="from-elsewhere",
        ),
    ],
)


class Server:
    """One namespace of a real API server, in which `restricted` is enforced, with one fleet."""

    def __init__(self, api: CustomResources, changes: dict[str, Any]) -> None:
        self._api = api
        self.namespace = f"rendering-{secrets.token_hex(4)}"
        enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
        self._create(
            "/api/v1/namespaces",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": self.namespace, "labels": enforce},
            },
        )
        self.fleet = self._place(fleet(**changes))
        self.fleet = self._create(
            f"/apis/specfleet.dev/v1alpha1/namespaces/{self.namespace}/speculatorfleets",
            self.fleet,
        )
        self.children: dict[str, Object] = {}

    def edit(self, changes: dict[str, Any]) -> None:
        """Write a new spec."""
        metadata = self.fleet["metadata"]
        path = f"/apis/specfleet.dev/v1alpha1/namespaces/{self.namespace}/speculatorfleets/demo"
        document = {**fleet(**changes), "metadata": metadata}
        answer = self._api.client.put(path, json=document)
        assert answer.status_code == 200, answer.text
        self.fleet = answer.json()

    def plan(self) -> Plan:
        """Return what is to be done now."""
        children = tuple(self.children.values())
        return plan(Observed(self.fleet, children, trust=TRUST), FACTS, NOW)

    def carry_out(self, todo: Plan) -> None:
        """Apply what the plan has, strictly, and remember what came back."""
        for item in todo.apply:
            answer = self._api.client.patch(
                self.path(item) + "/" + item["metadata"]["name"],
                params={
                    "fieldManager": FIELD_MANAGER,
                    "force": "true",
                    "fieldValidation": "Strict",
                },
                headers={"Content-Type": "application/apply-patch+yaml"},
                json=item,
            )
            assert answer.status_code in {200, 201}, f"{key_of(item)}: {answer.text}"
            found = answer.json()
            found["metadata"].pop("managedFields")
            self.children[str(key_of(item))] = found

    def change(self, key: str, change: dict[str, Any]) -> None:
        """Change an object, as somebody else does."""
        item = self.children[key]
        answer = self._api.client.patch(
            self.path(item) + "/" + item["metadata"]["name"],
            headers={"Content-Type": "application/strategic-merge-patch+json"},
            json=change,
        )
        assert answer.status_code == 200, answer.text
        self.children[key] = answer.json()

    def pod_refusal(self, stateful_set: str) -> str | None:
        """Say why a pod could not be made from a template, None when it could."""
        template = self.children[f"StatefulSet {stateful_set}"]["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
        pod["metadata"]["name"] = "probe"
        answer = self._api.client.post(
            f"/api/v1/namespaces/{self.namespace}/pods",
            params={"dryRun": "All", "fieldValidation": "Strict"},
            json=pod,
        )
        return None if answer.status_code == 201 else answer.text

    def path(self, item: Object) -> str:
        """Return where objects of the kind are."""
        kind = kind_of(item["apiVersion"], item["kind"])
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
        return f"{root}/namespaces/{self.namespace}/{kind.plural}"

    def _place(self, item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "metadata": {"name": "demo", "namespace": self.namespace}}

    def _create(self, path: str, item: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.client.post(path, json=item)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())


@FLEETS
def test_all_of_a_fleet_is_taken_and_then_nothing_is_left_to_apply(
    api: CustomResources, changes: dict[str, Any]
) -> None:
    server = Server(api, changes)

    server.carry_out(server.plan())

    assert [str(key_of(item)) for item in server.plan().apply] == []
    assert server.plan().delete == ()


def test_pods_may_run_where_restricted_is_enforced(api: CustomResources) -> None:
    server = Server(api, EVERYTHING)

    server.carry_out(server.plan())

    assert server.pod_refusal("demo-main") is None
    assert server.pod_refusal("demo-aggregator") is None


def test_what_the_spec_has_no_more_is_taken_away(api: CustomResources) -> None:
    server = Server(api, EVERYTHING)
    server.carry_out(server.plan())

    server.edit({"engine__env": [{"name": "EMPTY", "value": ""}]})
    server.carry_out(server.plan())

    template = server.children["StatefulSet demo-main"]["spec"]["template"]
    [engine] = template["spec"]["containers"]
    names = [variable["name"] for variable in engine["env"]]
    assert ("EMPTY" in names, engine.get("resources")) == (True, {})
    assert "affinity" not in template["spec"]
    assert server.plan().apply == ()


def test_what_somebody_else_changed_is_put_right(api: CustomResources) -> None:
    server = Server(api, {})
    server.carry_out(server.plan())

    server.change("StatefulSet demo-main", {"spec": {"replicas": 5}})
    server.change("NetworkPolicy demo-engine", {"spec": {"egress": []}})
    server.change(
        "NetworkPolicy demo-aggregator",
        {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}},
    )
    server.change("Service demo", {"metadata": {"labels": {"somebody": "else"}}})

    todo = server.plan()
    server.carry_out(todo)

    assert [str(key_of(item)) for item in todo.apply] == [
        "NetworkPolicy demo-engine",
        "NetworkPolicy demo-aggregator",
        "StatefulSet demo-main",
    ]
    assert server.plan().apply == ()
