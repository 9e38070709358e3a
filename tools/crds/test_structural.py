"""Models become structural schemas, or are refused by the name of the field that cannot."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, JsonValue

from specfleet_common.api.rules import rule, rules
from tools.crds.structural import NotStructural, Schema, structural, telling_defaults


class Inner(BaseModel):
    """An inner object."""

    count: Annotated[int, Field(ge=1)] = Field(default=3, description="How many.")


class Outer(BaseModel):
    """An outer object."""

    inner: Inner = Field(
        default=Inner(), description="Said here.", json_schema_extra=rules(rule("a", "b"))
    )
    name: str | None = Field(default=None, description="A name.")
    names: tuple[str, ...] = Field(default=(), description="Names.")
    anything: dict[str, JsonValue] = Field(default={}, description="Anything.")


def field(name: str) -> Schema:
    schema: Schema = structural(Outer.model_json_schema())["properties"][name]
    return schema


def test_a_reference_is_replaced_by_what_it_refers_to() -> None:
    assert field("inner")["properties"]["count"] == {
        "description": "How many.",
        "type": "integer",
        "default": 3,
        "minimum": 1,
    }


def test_what_a_field_says_comes_before_what_its_type_says() -> None:
    assert field("inner")["description"] == "Said here."
    assert field("inner")["x-kubernetes-validations"] == [{"rule": "a", "message": "b"}]


def test_an_absent_object_gets_the_defaults_of_its_fields() -> None:
    assert field("inner")["default"] == {}


def test_an_absent_list_or_map_stays_absent() -> None:
    assert "default" not in field("names")
    assert "default" not in field("anything")


def test_null_stands_for_an_absent_field() -> None:
    assert field("name") == {"description": "A name.", "type": "string"}


def test_a_free_object_keeps_what_it_has() -> None:
    assert field("anything") == {
        "description": "Anything.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_a_default_is_told_in_the_description() -> None:
    told = telling_defaults(structural(Outer.model_json_schema()))

    count = told["properties"]["inner"]["properties"]["count"]
    assert count["description"] == "How many. Default: 3"


class Float(BaseModel):
    """An object with a float."""

    share: float = Field(description="A share.")


class Union(BaseModel):
    """An object with a field of two forms."""

    either: str | int = Field(description="A text or a number.")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param(Float, r"^spec\.share: is .*, expected one type", id="float"),
        pytest.param(Union, r"^spec\.either: has 2 forms, expected one$", id="union"),
    ],
)
def test_what_a_schema_cannot_say_is_refused(model: type[BaseModel], message: str) -> None:
    with pytest.raises(NotStructural, match=message):
        structural(model.model_json_schema(), path="spec")
