"""Measures the operator with many fleets: `python -m e2e.operator_scale --fleets 100 --engines 10`.

A real API server, the operator as a process, and objects alone: pods are written as a kubelet would
report them, and nothing runs in them. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import aiohttp

from e2e.cluster.control_plane import control_plane
from e2e.cluster.programs import binaries
from e2e.operator_process import OperatorProcess, operator_process
from specfleet_operator.calling import Caller
from specfleet_operator.cluster import KubernetesCluster
from specfleet_operator.connecting import connection_by_kubeconfig
from specfleet_operator.kinds import FLEET, POD, Kind, kind_of, object_path
from specfleet_operator.observed import Object

CRDS = Path(__file__).resolve().parents[1] / "crds"
STATEFUL_SET = kind_of("apps/v1", "StatefulSet")
NAMESPACE = "fleets"
AT_ONCE = 8
QUIET_SECONDS = 15.0
REST_SECONDS = 60.0
PATIENCE_SECONDS = 900.0


class Scene:
    """The API server, as an administrator sees it, and the operator under measurement."""

    def __init__(self, session: aiohttp.ClientSession, url: str, operator: OperatorProcess) -> None:
        self.operator = operator
        self._session = session
        self._url = url
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._cluster = KubernetesCluster(
            Caller(
                session,
                url,
                request_seconds=30.0,
                may_write=lambda: True,
                count_write=lambda verb, kind: None,
            )
        )

    async def list(self, kind: Kind) -> tuple[Object, ...]:
        """Return all objects of a kind."""
        return (await self._cluster.list(kind, NAMESPACE)).items

    async def create(self, items: Iterable[Object]) -> None:
        """Create objects, some at once."""
        await asyncio.gather(*(self._create(item) for item in items))

    async def create_pods(self, sets: Iterable[Object]) -> None:
        """Create the pods of StatefulSets as they are when they run."""
        pods = [
            pod_of(item, ordinal) for item in sets for ordinal in range(item["spec"]["replicas"])
        ]
        await self.create(pods)
        await asyncio.gather(*(self._report_ready(pod["metadata"]["name"]) for pod in pods))

    async def merge(self, name: str, changes: Object) -> None:
        """Edit a fleet."""
        async with self._slots:
            await self._cluster.merge(FLEET, NAMESPACE, name, changes)

    async def seconds_until(self, holds: Callable[[], Awaitable[bool]]) -> float:
        """Return how long it takes until something is true."""
        began_at = time.monotonic()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await holds():  # noqa: ASYNC110 - other processes set no event
                await asyncio.sleep(0.25)
        return time.monotonic() - began_at

    async def rest(self) -> None:
        """Wait until the operator has written nothing for a while."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            before = -1.0
            while (after := self.operator.writes()) != before:
                before = after
                await asyncio.sleep(QUIET_SECONDS)

    async def _create(self, item: Object) -> None:
        async with self._slots:
            await self._cluster.create(item)

    async def _report_ready(self, name: str) -> None:
        path = object_path(POD, NAMESPACE, name, subresource="status")
        condition = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [condition]}
        headers = {"Content-Type": "application/merge-patch+json"}
        async with (
            self._slots,
            self._session.patch(
                self._url + path, data=json.dumps({"status": status}), headers=headers
            ) as answer,
        ):
            answer.raise_for_status()


def fleet(number: int, *, engines: int) -> dict[str, Any]:
    """Return one of the fleets: most engines train, some are a control cohort."""
    return {
        "apiVersion": FLEET.api_version,
        "kind": FLEET.name,
        "metadata": {"name": f"fleet-{number:03}", "namespace": NAMESPACE},
        "spec": {
            "target": {
                "model": "model",
                "source": {"persistentVolumeClaim": {"claimName": "models"}},
            },
            "drafter": {"family": "mtp"},
            "replicas": engines - engines // 5,
            "cohorts": [{"name": "control", "replicas": engines // 5, "serve": "Stock"}],
            "engine": {"image": "vllm:1"},
            "store": {
                "s3": {
                    "endpoint": "http://s3:9000",
                    "bucket": "specfleet",
                    "credentialsSecretRef": {"name": "s3"},
                }
            },
        },
    }


def pod_of(stateful_set: Object, ordinal: int) -> dict[str, Any]:
    """Return a pod as the StatefulSet controller makes it."""
    metadata, template = stateful_set["metadata"], stateful_set["spec"]["template"]
    return {
        "apiVersion": POD.api_version,
        "kind": POD.name,
        "metadata": {
            "name": f"{metadata['name']}-{ordinal}",
            "namespace": metadata["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"].get("annotations", {}),
            "ownerReferences": [
                {
                    "apiVersion": STATEFUL_SET.api_version,
                    "kind": STATEFUL_SET.name,
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": template["spec"] | {"nodeName": "node"},
    }


async def measure(scene: Scene, *, fleets: int, engines: int) -> dict[str, Any]:
    """Return what the operator takes for so many fleets."""
    operator = scene.operator
    await scene.seconds_until(lambda: asyncio.to_thread(operator.leads))
    resident_before = operator.resident_bytes()
    processor_before = operator.processor_seconds()

    began_at = time.monotonic()
    await scene.create(fleet(number, engines=engines) for number in range(fleets))
    created = time.monotonic() - began_at
    sets = fleets * (3 if engines // 5 else 2)

    async def has_children() -> bool:
        return len(await scene.list(STATEFUL_SET)) == sets and await is_observed(scene)

    children = created + await scene.seconds_until(has_children)
    writes_for_children = operator.writes()
    processor_for_children = operator.processor_seconds() - processor_before

    await scene.create_pods(await scene.list(STATEFUL_SET))

    async def has_engines() -> bool:
        found = await scene.list(FLEET)
        return all(item.get("status", {}).get("readyReplicas") for item in found)

    ready = await scene.seconds_until(has_engines)
    await scene.rest()

    written, busy = operator.writes(), operator.processor_seconds()
    await asyncio.sleep(REST_SECONDS)
    minutes = REST_SECONDS / 60
    at_rest = {
        "resident_mib": mib(operator.resident_bytes()),
        "api_writes_per_minute": (operator.writes() - written) / minutes,
        "processor_seconds_per_minute": round((operator.processor_seconds() - busy) / minutes, 2),
    }

    names = [item["metadata"]["name"] for item in await scene.list(FLEET)]
    edit = {"spec": {"aggregation": {"localSteps": 50}}}
    began_at = time.monotonic()
    await asyncio.gather(*(scene.merge(name, edit) for name in names))
    edited = time.monotonic() - began_at
    edited += await scene.seconds_until(lambda: is_observed(scene))
    return {
        "fleets": fleets,
        "engines": fleets * engines,
        "resident_mib_without_fleets": mib(resident_before),
        "seconds_to_create_fleets": round(created, 2),
        "seconds_until_children_exist": round(children, 2),
        "api_writes_until_children_exist": writes_for_children,
        "processor_seconds_until_children_exist": round(processor_for_children, 2),
        "seconds_until_pods_are_in_the_status": round(ready, 2),
        "at_rest": at_rest,
        "seconds_until_an_edit_of_all_fleets_is_done": round(edited, 2),
        "processors": os.cpu_count(),
    }


async def is_observed(scene: Scene) -> bool:
    """Say whether every fleet's status is about its newest spec."""
    return all(
        item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"]
        for item in await scene.list(FLEET)
    )


def mib(size_bytes: int) -> float:
    """Return bytes as MiB."""
    return round(size_bytes / (1 << 20), 1)


async def run(fleets: int, engines: int, directory: Path) -> dict[str, Any]:
    """Start everything, measure, end everything."""
    with control_plane(binaries(), directory, environment=os.environ) as plane:
        plane.client.kubectl("apply", "-f", str(CRDS))
        plane.client.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        plane.client.kubectl("create", "namespace", NAMESPACE)
        plane.client.kubectl("create", "serviceaccount", "operator", "--namespace", NAMESPACE)
        with operator_process(
            plane, directory, name="operator", namespace=NAMESPACE, resync_seconds=30.0
        ) as operator:
            async with connection_by_kubeconfig(plane.kubeconfig, "operator-scale") as connection:
                scene = Scene(connection.session(), connection.url, operator)
                return await measure(scene, fleets=fleets, engines=engines)


def main() -> int:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m e2e.operator_scale", description=__doc__)
    parser.add_argument("--fleets", type=int, default=100)
    parser.add_argument("--engines", type=int, default=10, help="of every fleet")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="operator-scale-") as directory:
        result = asyncio.run(run(options.fleets, options.engines, Path(directory)))
    print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
