"""Variables of engines whose values the cluster has: they come when these do, and are exact."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.kubernetes.fleet import ENGINE, Fleet

pytestmark = pytest.mark.cluster

SECRET, CONFIG_MAP = "variables-secret", "variables-map"
READ = "import json, os, sys; print(json.dumps({n: os.environ.get(n) for n in sys.argv[1:]}))"


def test_variables_come_from_secrets_config_maps_and_fields(fleet: Fleet) -> None:
    missing = {"name": SECRET, "key": "nothing", "optional": True}
    from_elsewhere = {
        "FROM_SECRET": {"secretKeyRef": {"name": SECRET, "key": "key"}},
        "FROM_CONFIG_MAP": {"configMapKeyRef": {"name": CONFIG_MAP, "key": "key"}},
        "FROM_FIELD": {"fieldRef": {"fieldPath": "metadata.name"}},
        "MAY_BE_MISSING": {"secretKeyRef": missing},
    }
    variables: list[dict[str, Any]] = [
        {"name": name, "valueFrom": source} for name, source in from_elsewhere.items()
    ]
    variables.append({"name": "AS_WRITTEN", "value": "$(FROM_SECRET) $$ ${x}"})
    fleet.apply({"replicas": 1, "engine": {"env": variables}})

    waiting = fleet.wait_for("Serving", "False", "CreateContainerConfigError")
    fleet.client.apply(
        _object(fleet, "Secret", SECRET, stringData={"key": "$(HOME) of a Secret"}),
        _object(fleet, "ConfigMap", CONFIG_MAP, data={"key": "several\nlines"}),
    )
    fleet.wait_until_ready()
    pod = fleet.pods()[0]["metadata"]["name"]
    seen = json.loads(fleet.python(pod, ENGINE, READ, *(one["name"] for one in variables)))

    assert SECRET in waiting["message"] or CONFIG_MAP in waiting["message"]
    assert seen == {
        "FROM_SECRET": "$(HOME) of a Secret",
        "FROM_CONFIG_MAP": "several\nlines",
        "FROM_FIELD": pod,
        "MAY_BE_MISSING": None,
        "AS_WRITTEN": "$(FROM_SECRET) $$ ${x}",
    }


def _object(fleet: Fleet, kind: str, name: str, **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **body}
