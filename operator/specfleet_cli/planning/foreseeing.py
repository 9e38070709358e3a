"""Asks the operator's own program, run as a child, what it would do for a changed fleet.

It is the program that this command was installed with. What the operator in the cluster was
installed with comes from its Deployment, and no Secret is read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specfleet_cli.access import ClusterError, NotThere
from specfleet_cli.api_server import FLEETS, PROMOTIONS, VERSION, ApiServer
from specfleet_cli.planning.applying import APPLY, MANAGER, patch_of
from specfleet_cli.planning.manifests import PlanError

Json = dict[str, Any]

PROGRAM = (sys.executable, "-m", "specfleet_operator.preview")
OPERATORS = "app.kubernetes.io/component=operator,app.kubernetes.io/part-of=specfleet"
_MONITORS = ("monitoring.coreos.com/v1", "podmonitors", "PodMonitor")
_CHILDREN = (
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("v1", "services", "Service"),
    ("v1", "pods", "Pod"),
    ("v1", "configmaps", "ConfigMap"),
    ("v1", "serviceaccounts", "ServiceAccount"),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    ("apps/v1", "controllerrevisions", "ControllerRevision"),
    (VERSION, PROMOTIONS, "DrafterPromotion"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One object now and then; None when it is not there."""

    kind: str
    name: str
    before: Json | None
    after: Json | None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a manifest would change."""

    name: str
    namespace: str
    fleet: Change
    problem: str
    """Why the operator would not carry it out; empty when it would."""
    objects: tuple[Change, ...]
    pods: tuple[tuple[str, str], ...]
    """Names, and what becomes of each: created, replaced or removed."""
    operator_version: str


def foresee(server: ApiServer, manifest: Json) -> Foreseen:
    """Return what applying a manifest to the namespace of `server` would change."""
    name = manifest["metadata"]["name"]
    before = _live(server, name)
    after = _dry_run(server, before, manifest)
    monitors = _monitors(server, name)
    told = _told(
        {
            "deployments": _operators(server),
            "kinds": [] if monitors is None else [_MONITORS[-1]],
            "before": before,
            "after": after,
            "children": [*_children(server, name), *(monitors or ())],
        }
    )
    problem = told["problem"]
    return Foreseen(
        name=name,
        namespace=server.namespace,
        fleet=Change("SpeculatorFleet", name, before, after),
        problem="" if problem is None else f"{problem['reason']}: {problem['message']}",
        objects=tuple(
            Change(one["key"]["kind"], one["key"]["name"], one["before"], one["after"])
            for one in told["objects"]
        ),
        pods=tuple((one["name"], one["fate"]) for one in told["pods"]),
        operator_version=told["version"],
    )


def _live(server: ApiServer, name: str) -> Json | None:
    try:
        return server.get(VERSION, FLEETS, name)
    except NotThere:
        return None


def _dry_run(server: ApiServer, live: Json | None, manifest: Json) -> Json:
    if live is None:
        return server.would_be(manifest, FLEETS, manager=MANAGER)
    patch = patch_of(live, manifest)
    # Only an apply by the server asks who else has said something of a field; here it wins.
    force = {"force": True} if patch.content_type == APPLY else {}
    return server.would_become(
        patch.body, FLEETS, content_type=patch.content_type, manager=MANAGER, **force
    )


def _operators(server: ApiServer) -> list[Json]:
    try:
        return server.items_everywhere("apps/v1", "deployments", selector=OPERATORS)
    except ClusterError as error:
        raise PlanError(
            f"{error}; how the operator was installed is in its Deployment, which plan has to read"
        ) from error


def _children(server: ApiServer, fleet: str) -> list[Json]:
    return [item for kind in _CHILDREN for item in _of_fleet(server, fleet, *kind)]


def _monitors(server: ApiServer, fleet: str) -> list[Json] | None:
    """Return what a Prometheus collects from the fleet; None in a cluster that knows no such."""
    try:
        return _of_fleet(server, fleet, *_MONITORS)
    except NotThere:
        return None


def _of_fleet(
    server: ApiServer, fleet: str, api_version: str, plural: str, kind: str
) -> list[Json]:
    found = server.items(api_version, plural, selector=f"specfleet.dev/fleet={fleet}")
    return [{"apiVersion": api_version, "kind": kind, **item} for item in found]


def _told(question: Mapping[str, Any]) -> Json:
    done = subprocess.run(
        PROGRAM, input=json.dumps(question), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise PlanError(f"{' '.join(PROGRAM[1:])}: ended with code {done.returncode}: {last}")
    told: Json = json.loads(done.stdout)
    if "error" in told:
        raise PlanError(told["error"])
    return told
