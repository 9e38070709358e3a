"""The field reference of both kinds, as a page of the documentation. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from specfleet_common.api.rules import VALIDATIONS
from tools.crds.definitions import GROUP, VERSION, Resource, schema
from tools.crds.structural import Schema

_HEAD = f"""# Field reference

Made by `make generate` from the same models as the CustomResourceDefinitions. \
In a cluster `kubectl explain` shows the same:

```sh
kubectl explain sfleet.spec.aggregation
kubectl explain dpromo.spec
```

The version of both kinds is `{GROUP}/{VERSION}`. A field in bold has to be given, and unknown \
fields are refused. Quantities are written as everywhere in Kubernetes (`500m`, `16Gi`), other \
decimals in quotes.
"""


def reference(resources: Sequence[Resource]) -> str:
    """Return the page, Markdown."""
    return "\n".join([_HEAD, *(line for resource in resources for line in _kind(resource))])


def _kind(resource: Resource) -> Iterator[str]:
    whole = schema(resource)
    yield f"## {resource.kind}\n"
    yield f"Short name `{resource.short}`. {whole['description']}\n"
    for part in ("spec", "status"):
        yield from _object(part, whole["properties"][part])


def _object(path: str, described: Schema) -> Iterator[str]:
    """Yield one table for an object, and then one for each object below it."""
    fields = described.get("properties", {})
    yield f"### {path}\n"
    yield f"{described['description']}\n"
    yield "| field | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in fields.items():
        shown = f"**`{name}`**" if name in described.get("required", []) else f"`{name}`"
        cells = (shown, _type(field), _default(field), _cell(field["description"]))
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from _rules(described)
    for name, field in fields.items():
        if "properties" in (below := field.get("items", field)) and not _is_passed_on(below):
            suffix = "[]" if "items" in field else ""
            yield from _object(f"{path}.{name}{suffix}", below)


def _rules(described: Schema) -> Iterator[str]:
    """Yield what holds for several fields together, and for the fields that have no table."""
    told = list(_messages(described))
    for name, field in described.get("properties", {}).items():
        parts = (field, field.get("items", {}))
        plain = [part for part in parts if "properties" not in part]
        told += [f"`{name}`: {message}" for part in plain for message in _messages(part)]
    if told:
        yield "Rules:\n"
        yield from (f"- {sentence}" for sentence in told)
        yield ""


def _messages(part: Schema) -> Iterator[str]:
    yield from (rule["message"] for rule in part.get(VALIDATIONS, []))


def _is_passed_on(field: Schema) -> bool:
    return bool(field.get("x-kubernetes-preserve-unknown-fields"))


def _type(field: Schema) -> str:
    if "x-kubernetes-int-or-string" in field:
        return "quantity"
    if "enum" in field:
        return " \\| ".join(f"`{value}`" for value in field["enum"])
    if field["type"] == "array":
        return f"list of {_plural(field['items'])}"
    if field["type"] == "object":
        return _object_type(field)
    if field["type"] == "integer" and "maximum" in field:
        return f"integer, {field.get('minimum', 0)} to {field['maximum']}"
    return str(field.get("format") or field["type"])


def _object_type(field: Schema) -> str:
    if "additionalProperties" in field:
        return f"map of {_plural(field['additionalProperties'])}"
    return "any object" if _is_passed_on(field) else "object"


def _plural(item: Schema) -> str:
    if "x-kubernetes-int-or-string" in item:
        return "quantities"
    return "objects" if item["type"] == "object" else f"{item['type']}s"


def _default(field: Schema) -> str:
    if "default" not in field or field["default"] == {}:
        return ""
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
