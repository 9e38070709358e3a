"""Turns the JSON schema of a pydantic model into a structural schema, as an API server wants it.

Structural: every field has one type, nothing refers elsewhere, and what a field may be besides null
is all that is said. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from specfleet_common.api.rules import VALIDATIONS

Schema = dict[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_ANYTHING = {"$ref": "#/$defs/JsonValue"}
_KEPT = (
    *("description", "type", "format", "default", "enum", "pattern"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("minProperties", "maxProperties", "required"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", VALIDATIONS),
)


class NotStructural(ValueError):
    """A model says what a structural schema cannot; the message names the field."""


def structural(schema: Mapping[str, Any], *, path: str = "") -> Schema:
    """Return the structural form of what `model_json_schema` returns."""
    return _converted(schema, schema.get("$defs", {}), path)


def _converted(written: Mapping[str, Any], definitions: Mapping[str, Any], path: str) -> Schema:
    schema = _resolved(written, definitions, path)
    if schema.get("additionalProperties") == _ANYTHING:
        schema = {**schema, _PRESERVE: True}
        del schema["additionalProperties"]
    if schema.get(_INT_OR_STRING):
        return {
            **_kept(schema),
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            _INT_OR_STRING: True,
        }
    if schema.get("type") not in ("object", "array", "string", "integer", "boolean"):
        raise NotStructural(f"{path}: is {schema}, expected one type that is no float")
    result = _kept(schema)
    if schema.get(_PRESERVE):
        result[_PRESERVE] = True
    for name, field in schema.get("properties", {}).items():
        converted = _converted(field, definitions, f"{path}.{name}")
        result.setdefault("properties", {})[name] = converted
    if isinstance(values := schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _converted(values, definitions, f"{path}[]")
    if "items" in schema:
        result["items"] = _converted(schema["items"], definitions, f"{path}[]")
    return _with_useful_default(result)


def _resolved(written: Mapping[str, Any], definitions: Mapping[str, Any], path: str) -> Schema:
    """Follow references and drop the choice of null, which an absent field stands for."""
    schema = dict(written)
    if len(choices := schema.get("anyOf", [])) > 1 and not schema.get(_INT_OR_STRING):
        others = [choice for choice in choices if choice.get("type") != "null"]
        if len(others) != 1:
            raise NotStructural(f"{path}: has {len(others)} forms, expected one")
        del schema["anyOf"]
        schema = _merged(others[0], schema)
        return _resolved(schema, definitions, path)
    if "$ref" in schema:
        name = schema.pop("$ref").rpartition("/")[2]
        return _resolved(_merged(definitions[name], schema), definitions, path)
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    return schema


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Schema:
    rules = [*below.get(VALIDATIONS, []), *above.get(VALIDATIONS, [])]
    return {**below, **above, **({VALIDATIONS: rules} if rules else {})}


def _kept(schema: Mapping[str, Any]) -> Schema:
    return {key: schema[key] for key in _KEPT if key in schema and schema[key] is not None}


def _with_useful_default(schema: Schema) -> Schema:
    """Keep the default of a list or object only when it brings defaults of the fields below."""
    if not isinstance(schema.get("default"), dict | list):
        return schema
    fields = schema.get("properties", {}).values()
    if any("default" in field for field in fields):
        return {**schema, "default": {}}
    return {key: value for key, value in schema.items() if key != "default"}


def telling_defaults(schema: Schema) -> Schema:
    """Return the schema with defaults in the descriptions, as `kubectl explain` shows no others."""
    told = dict(schema)
    if "default" in schema and schema["default"] != {}:
        default = schema["default"]
        shown = default if isinstance(default, str) else json.dumps(default)
        told["description"] = f"{schema['description']} Default: {shown}"
    if "properties" in schema:
        fields = schema["properties"].items()
        told["properties"] = {name: telling_defaults(field) for name, field in fields}
    if "items" in schema:
        told["items"] = telling_defaults(schema["items"])
    return told
