"""What a fleet refers to by name in its namespace, and what it passes on as it is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from specfleet_common.api.resource import Resource

ObjectName = Annotated[
    str,
    StringConstraints(
        max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
    ),
]
"""Name of an object in Kubernetes."""

DataKey = Annotated[str, StringConstraints(max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
"""Key of a Secret or of a ConfigMap."""

Image = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[a-z0-9][^\s]*$")]
"""Name of a container image."""

JsonObject = dict[str, JsonValue]
"""A part of a Kubernetes object that is passed on whole; the API server judges it later."""


class SecretReference(Resource):
    """A Secret beside the fleet."""

    name: ObjectName = Field(description="Name of the Secret, in the namespace of the fleet.")


class SecretKeyReference(Resource):
    """One key of a Secret beside the fleet."""

    name: ObjectName = Field(description="Name of the Secret, in the namespace of the fleet.")
    key: DataKey = Field(
        default="ca.crt", description="Key of the Secret that has the certificates."
    )
