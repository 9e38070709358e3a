"""A cluster in memory: what plans do to it, and what Kubernetes' own controllers do then.

The part of Kubernetes that the operator relies on: objects are kept with a generation, StatefulSets
make and remove pods, pods that can start become ready. It plays the operator too, so that a test
reads as a story. Time and chance stay outside.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import Any

from specfleet_common.api.quantities import amount
from specfleet_common.wire.messages import PromotionState, VersionRef
from specfleet_operator.naming import COHORT_LABEL, COMPONENT_LABEL, ENGINE
from specfleet_operator.observed import (
    ObjectKey,
    Observed,
    OperatorFacts,
    Refusal,
    Trust,
    key_of,
)
from specfleet_operator.planning import Plan, plan
from specfleet_operator.tests.building import (
    FACTS,
    LINEAGE,
    NOW,
    TRUST,
    fleet,
    silent,
    state,
    view,
    worker,
)

MOST_STEPS = 200


@dataclass
class World:
    """One fleet, and everything that belongs to it."""

    fleet: dict[str, Any] = field(default_factory=fleet)
    facts: OperatorFacts = FACTS
    trust: Trust | None = TRUST
    objects: dict[ObjectKey, dict[str, Any]] = field(default_factory=dict)
    broken_images: set[str] = field(default_factory=set)
    """Engines with these images never become ready."""
    refuses: dict[ObjectKey, str] = field(default_factory=dict)
    """What the API server does not take."""
    refused: tuple[Refusal, ...] = ()
    promotions: tuple[PromotionState, ...] = ()
    """What the aggregator says of them, the newest first."""
    candidate: VersionRef | None = None
    is_reachable: bool = True
    """Whether the aggregator can be reached."""
    num_made: int = 0
    num_writes: int = 0
    now: float = NOW
    plans: list[Plan] = field(default_factory=list)

    def edit(self, **changes: Any) -> None:
        """Write a new spec, as a user does."""
        metadata = self.fleet["metadata"]
        edited = fleet(**changes)
        if edited["spec"] != self.fleet["spec"]:
            metadata["generation"] += 1
        self.fleet = {**self.fleet, "spec": edited["spec"]}

    def upgrade(self, name: str) -> None:
        """Start another version of the operator, whose defaults differ."""
        images = replace(self.facts.images, agent=f"agent:{name}", default_engine=f"vllm:{name}")
        self.facts = replace(
            self.facts, version=name, images=images, cluster_domain=f"{name}.local"
        )

    @property
    def pods(self) -> list[dict[str, Any]]:
        """Return all pods."""
        return [item for key, item in self.objects.items() if key.kind == "Pod"]

    @property
    def engines(self) -> list[dict[str, Any]]:
        """Return the pods of engines."""
        return [pod for pod in self.pods if pod["metadata"]["labels"][COMPONENT_LABEL] == ENGINE]

    def observed(self) -> Observed:
        """Return what the operator sees; the aggregator knows every pod that is ready."""
        workers = [
            worker(pod["metadata"]["uid"], cohort=pod["metadata"]["labels"][COHORT_LABEL])
            for pod in self.engines
            if is_ready(pod)
        ]
        generation = self.fleet["metadata"]["generation"]
        learning = state(
            *workers,
            settings_generation=generation,
            lineage=LINEAGE,
            candidate=self.candidate,
            promotions=self.promotions,
        )
        return Observed(
            fleet=self.fleet,
            children=tuple(self.objects.values()),
            aggregator=view(learning) if self.is_reachable else silent(seconds=1),
            trust=self.trust,
            refused=self.refused,
        )

    def reconcile(self) -> Plan:
        """Look, plan, and carry the plan out."""
        todo = plan(self.observed(), self.facts, self.now)
        self.plans.append(todo)
        refused = []
        for item in todo.apply:
            self.num_writes += 1
            if message := self.refuses.get(key_of(item)):
                refused.append(Refusal(key_of(item), message))
            else:
                self._apply(item)
        for item in todo.statuses:
            if (key := key_of(item)) in self.objects:
                self.objects[key]["status"] = copy.deepcopy(item["status"])
        self.refused = tuple(refused)
        for key in todo.delete:
            del self.objects[key]
        for name, added in todo.annotate_pods.items():
            metadata = self.objects[ObjectKey("v1", "Pod", name)]["metadata"]
            metadata["annotations"] = {**metadata.get("annotations", {}), **added}
        for name in todo.delete_pods:
            self.kill(name)
        self.fleet["status"] = todo.status
        return todo

    @property
    def shown(self) -> dict[str, dict[str, Any]]:
        """Return the DrafterPromotions by name."""
        return {
            key.name: item for key, item in self.objects.items() if key.kind == "DrafterPromotion"
        }

    @property
    def decisions(self) -> dict[str, str]:
        """Return the decisions that the aggregator is told; none while it is told nothing."""
        item = self.objects.get(ObjectKey("v1", "ConfigMap", "demo-settings"))
        text = "{}" if item is None else item["data"]["settings.json"]
        return dict(json.loads(text).get("decisions", {}))

    def decide(self, name: str, decision: str | None) -> None:
        """Write or remove a decision in a DrafterPromotion, as a user does."""
        item = self.shown[name]
        item["spec"] = {**item["spec"], "decision": decision}
        if decision is None:
            del item["spec"]["decision"]
        item["metadata"]["generation"] += 1

    def lose(self, kind: str) -> None:
        """Have someone delete all objects of a kind."""
        self.objects = {key: item for key, item in self.objects.items() if key.kind != kind}

    def kill(self, name: str) -> None:
        """Have a pod drain; it is gone with the next step."""
        metadata = self.objects[ObjectKey("v1", "Pod", name)]["metadata"]
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def step(self) -> None:
        """Let Kubernetes do what it does."""
        self._make_ready()
        sets = [item for key, item in self.objects.items() if key.kind == "StatefulSet"]
        expected = {}
        for item in sets:
            item["status"] = {"observedGeneration": item["metadata"]["generation"]}
            self._remember(item)
            for ordinal in range(item["spec"]["replicas"]):
                expected[f"{item['metadata']['name']}-{ordinal}"] = item
        for pod in self.pods:
            name = pod["metadata"]["name"]
            if "deletionTimestamp" in pod["metadata"]:
                del self.objects[key_of(pod)]
            elif name not in expected:
                self.kill(name)
        for name, item in expected.items():
            if ObjectKey("v1", "Pod", name) not in self.objects:
                self._make(name, item)

    def settle(self) -> None:
        """Go on until operator and controllers have nothing left to do."""
        for _ in range(MOST_STEPS):
            before = self._words()
            self.reconcile()
            self.step()
            self.reconcile()
            if before == self._words():
                return
        raise AssertionError(f"not settled after {MOST_STEPS} steps: {self.plans[-1]}")

    def _words(self) -> str:
        return json.dumps([self.fleet, list(self.objects.values())], sort_keys=True)

    def _apply(self, item: Any) -> None:
        key, new = key_of(item), served(item)
        old = self.objects.get(key)
        metadata = new["metadata"]
        if old is None:
            self.num_made += 1
            metadata.update(uid=f"uid-{self.num_made}", generation=1)
        else:
            if key.kind == "ControllerRevision":
                assert old["data"] == new["data"], "data of a ControllerRevision cannot change"
            if key.kind == "DrafterPromotion":
                # An apply leaves what others have written.
                new["spec"] = {**old["spec"], **new["spec"]}
            changed = old.get("spec") != new.get("spec")
            generation = old["metadata"]["generation"] + changed
            metadata.update(uid=old["metadata"]["uid"], generation=generation)
            new["status"] = old.get("status", {})
        self.objects[key] = new

    def _make(self, name: str, item: dict[str, Any]) -> None:
        self.num_made += 1
        template = item["spec"]["template"]
        self.objects[ObjectKey("v1", "Pod", name)] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **template["metadata"],
                "name": name,
                "uid": f"uid-{self.num_made}",
                "ownerReferences": [{"kind": "StatefulSet", "uid": item["metadata"]["uid"]}],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }

    def _make_ready(self) -> None:
        for pod in self.pods:
            images = {container["image"] for container in pod["spec"]["containers"]}
            works = not images & self.broken_images
            condition = {"type": "Ready", "status": "True" if works else "False"}
            pod["status"] = {"phase": "Running", "conditions": [condition]}

    def _remember(self, item: dict[str, Any]) -> None:
        """Keep the StatefulSet's own history, which has the labels of its pods."""
        template = item["spec"]["template"]
        revision = template["metadata"]["labels"].get("specfleet.dev/revision", "")
        name = f"{item['metadata']['name']}-history-{revision}"
        key = ObjectKey("apps/v1", "ControllerRevision", name)
        self.objects.setdefault(
            key,
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {
                    "name": name,
                    "labels": dict(template["metadata"]["labels"]),
                    "ownerReferences": [
                        {
                            "kind": "StatefulSet",
                            "uid": item["metadata"]["uid"],
                            "controller": True,
                        }
                    ],
                },
                "revision": 1,
                "data": {"spec": {"template": {}}},
            },
        )


def served(item: Any) -> dict[str, Any]:
    """Return the object as the API server shows it: with its defaults, and amounts in its words."""
    new: dict[str, Any] = copy.deepcopy(dict(item))
    if item["kind"] == "StatefulSet":
        new["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": "Retain"}
        pod = new["spec"]["template"]["spec"]
        pod["dnsPolicy"] = "ClusterFirst"
        for container in pod["containers"] + pod.get("initContainers", []):
            container["terminationMessagePath"] = "/dev/termination-log"
            for amounts in container.get("resources", {}).values():
                for name, quantity in amounts.items():
                    amounts[name] = f"{amount(quantity).normalize():f}"
    return new


def is_ready(pod: dict[str, Any]) -> bool:
    """Say whether a pod is ready and stays."""
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        one == {"type": "Ready", "status": "True"} for one in conditions
    )
