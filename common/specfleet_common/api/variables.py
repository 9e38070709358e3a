"""The environment variables of an engine: a value, or where a cluster finds one."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator
from pydantic.functional_validators import model_validator

from specfleet_common.api.engine_options import variable_refusal, variable_rules
from specfleet_common.api.references import DataKey, ObjectName
from specfleet_common.api.resource import Resource
from specfleet_common.api.rules import rule, rules

PYTHON_PATH: Final = "PYTHONPATH"

VariableName = Annotated[
    str,
    StringConstraints(max_length=256, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
    Field(json_schema_extra=rules(*variable_rules())),
]

_ONE_OF_TWO = "set exactly one of value and valueFrom"
_ONE_OF_THREE = "set exactly one of secretKeyRef, configMapKeyRef and fieldRef"
_PLAIN_PATH = f"{PYTHON_PATH} needs a value: specfleet puts its plugin in front of it"


class KeyReference(Resource):
    """One key of a Secret or ConfigMap beside the fleet."""

    name: ObjectName = Field(description="Name of the object, in the namespace of the fleet.")
    key: DataKey = Field(description="Key of the object that has the value.")
    optional: bool = Field(
        default=False,
        description="Start without the variable when there is no such object or key; otherwise "
        "the pod waits for it.",
    )


class FieldReference(Resource):
    """A field of the engine's pod."""

    field_path: Annotated[str, StringConstraints(min_length=1, max_length=1024)] = Field(
        description="Path of the field, such as status.hostIP, as in a container."
    )


class ValueSource(Resource):
    """Where the value of a variable is: exactly one of the fields."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.fieldRef)]"
                ".filter(given, given).size() == 1",
                _ONE_OF_THREE,
            )
        )
    )

    secret_key_ref: KeyReference | None = Field(default=None, description="A key of a Secret.")
    config_map_key_ref: KeyReference | None = Field(
        default=None, description="A key of a ConfigMap."
    )
    field_ref: FieldReference | None = Field(default=None, description="A field of the pod.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = (self.secret_key_ref, self.config_map_key_ref, self.field_ref)
        if sum(one is not None for one in given) != 1:
            raise ValueError(_ONE_OF_THREE)
        return self


class EngineVariable(Resource):
    """One environment variable of the engine."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("has(self.value) != has(self.valueFrom)", _ONE_OF_TWO),
            rule(
                f"self.name != '{PYTHON_PATH}' || !has(self.valueFrom)",
                _PLAIN_PATH,
                field=".valueFrom",
            ),
        )
    )

    name: VariableName = Field(description="Name of the variable.")
    value: Annotated[str, StringConstraints(max_length=65_536)] | None = Field(
        default=None, description="Value of the variable."
    )
    value_from: ValueSource | None = Field(
        default=None,
        description="Where a cluster has the value, read when the pod starts. A run on this "
        "machine takes the variable from its own environment.",
    )

    @field_validator("name")
    @classmethod
    def _is_the_users(cls, name: str) -> str:
        if refusal := variable_refusal(name):
            raise ValueError(refusal)
        return name

    @model_validator(mode="after")
    def _has_one_value(self) -> Self:
        if (self.value is None) == (self.value_from is None):
            raise ValueError(_ONE_OF_TWO)
        if self.name == PYTHON_PATH and self.value_from is not None:
            raise ValueError(_PLAIN_PATH)
        return self
