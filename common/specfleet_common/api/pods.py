"""What a SpeculatorFleet adds to the pods of its engines: resources, placement, labels, volumes.

Most of it is passed on as it is; the API server judges it when the pods are made.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from specfleet_common.api.quantities import Quantity
from specfleet_common.api.references import JsonObject, ObjectName, SecretReference
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import check_told_apart, keyed_by, rule, rules

_LONGEST_NAME = 63

OWN_VOLUMES: Final = (
    *("agent-tmp", "cache", "engine-tmp", "model", "plugin"),
    *("shm", "state", "token", "trust"),
)
"""Names of the volumes that specfleet itself gives to an engine's pod."""

_OWN_KEYS = ("app.kubernetes.io/", "specfleet.dev/")
_KEY = (
    r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
_KEYS_EXPECTED = "keys are an optional prefix/ and at most 63 letters, digits, '-', '_' and '.'"
_OWN_KEYS_REFUSED = f"keys that start with {' or '.join(_OWN_KEYS)} are set by specfleet"
_OWN_VOLUMES_REFUSED = f"specfleet has volumes named {', '.join(OWN_VOLUMES)}, choose another name"


def _with_right_keys(pairs: dict[str, str]) -> dict[str, str]:
    for key in pairs:
        if not re.fullmatch(_KEY, key):
            raise ValueError(f"{key!r}: {_KEYS_EXPECTED}")
    return pairs


def _without_our_keys(pairs: dict[str, str]) -> dict[str, str]:
    for key in pairs:
        if key.startswith(_OWN_KEYS):
            raise ValueError(f"{key}: {_OWN_KEYS_REFUSED}")
    return pairs


def _named(objects: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    for index, item in enumerate(objects):
        name = item.get("name")
        if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
            raise ValueError(f"item {index} needs a name of 1 to {_LONGEST_NAME} characters")
    return objects


def _without_our_volumes(volumes: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    check_told_apart(str(volume["name"]) for volume in volumes)
    for volume in volumes:
        if volume["name"] in OWN_VOLUMES:
            raise ValueError(f"{volume['name']}: {_OWN_VOLUMES_REFUSED}")
    return volumes


def _told_apart(secrets: tuple[SecretReference, ...]) -> tuple[SecretReference, ...]:
    check_told_apart(secret.name for secret in secrets)
    return secrets


_RIGHT_KEYS = rule(f"self.all(key, key.matches(r'{_KEY}'))", _KEYS_EXPECTED)
_NO_OWN_KEYS = rule(
    f"!self.exists(key, {list(_OWN_KEYS)}.exists(own, key.startsWith(own)))", _OWN_KEYS_REFUSED
)
_NO_OWN_VOLUMES = rule(
    f"!self.exists(volume, volume.name in {list(OWN_VOLUMES)})", _OWN_VOLUMES_REFUSED
)
_NAMED_ITEMS = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": _LONGEST_NAME,
            "description": "Name of the volume.",
        }
    },
    "required": ["name"],
    "x-kubernetes-preserve-unknown-fields": True,
}

LabelValue = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"),
]
Labels = Annotated[
    dict[str, LabelValue],
    Field(max_length=32, json_schema_extra=rules(_RIGHT_KEYS)),
    AfterValidator(_with_right_keys),
]
PodLabels = Annotated[
    dict[str, LabelValue],
    Field(max_length=32, json_schema_extra=rules(_RIGHT_KEYS, _NO_OWN_KEYS)),
    AfterValidator(_with_right_keys),
    AfterValidator(_without_our_keys),
]
PodAnnotations = Annotated[
    dict[str, Annotated[str, StringConstraints(max_length=16_384)]],
    Field(max_length=32, json_schema_extra=rules(_RIGHT_KEYS, _NO_OWN_KEYS)),
    AfterValidator(_with_right_keys),
    AfterValidator(_without_our_keys),
]
Objects = Annotated[tuple[JsonObject, ...], Field(max_length=32)]
Volumes = Annotated[
    tuple[JsonObject, ...],
    Field(
        max_length=32,
        json_schema_extra={
            "items": _NAMED_ITEMS,
            **keyed_by("name"),
            **rules(_NO_OWN_VOLUMES),
        },
    ),
    AfterValidator(_named),
    AfterValidator(_without_our_volumes),
]
VolumeMounts = Annotated[
    tuple[JsonObject, ...],
    Field(max_length=64, json_schema_extra={"items": _NAMED_ITEMS}),
    AfterValidator(_named),
]
Secrets = Annotated[
    tuple[SecretReference, ...],
    Field(max_length=16, json_schema_extra=keyed_by("name")),
    AfterValidator(_told_apart),
]
Amounts = Annotated[dict[str, Quantity], Field(max_length=16)]


class Resources(Resource):
    """What a container asks of its node."""

    limits: Amounts = Field(default={}, description="The most it may use, by resource.")
    requests: Amounts = Field(
        default={}, description="What is set aside for it, by resource; the limits when absent."
    )


class Pod(Resource):
    """What the pods of engines have besides what specfleet puts there."""

    labels: PodLabels = Field(default={}, description="More labels of the pods.")
    annotations: PodAnnotations = Field(default={}, description="More annotations of the pods.")
    node_selector: Labels = Field(default={}, description="Labels that a node must have.")
    tolerations: Objects = Field(
        default=(), description="Taints of nodes that are tolerated, as in a pod."
    )
    affinity: JsonObject | None = Field(
        default=None, description="Which nodes and neighbours are preferred, as in a pod."
    )
    topology_spread_constraints: Objects = Field(
        default=(), description="How engines are spread over nodes and zones, as in a pod."
    )
    priority_class_name: ObjectName | None = Field(
        default=None, description="Priority class of the pods."
    )
    runtime_class_name: ObjectName | None = Field(
        default=None, description="Runtime class of the pods, such as nvidia."
    )
    image_pull_secrets: Secrets = Field(default=(), description="Secrets to pull the images with.")
    volumes: Volumes = Field(default=(), description="More volumes, as in a pod.")
    volume_mounts: VolumeMounts = Field(
        default=(),
        description="Where the engine's container sees these volumes, as in a container.",
    )
    security_context: JsonObject | None = Field(
        default=None,
        description="Fields of the pod's security context, each in place of specfleet's own: "
        "runAsNonRoot, runAsUser and seccompProfile as the Pod Security level restricted wants.",
    )
