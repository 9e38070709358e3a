"""Every field of the resource is described: it is what `kubectl explain` shows."""

from __future__ import annotations

from typing import Any

from specfleet_common.api.fleet import SpeculatorFleet


def _undescribed(schema: dict[str, Any]) -> list[str]:
    """Return the fields that neither describe themselves nor are of a described type."""
    types = {f"#/$defs/{title}": part for title, part in schema["$defs"].items()}
    return [
        f"{title}.{name}"
        for title, part in {"SpeculatorFleet": schema, **types}.items()
        for name, field in part.get("properties", {}).items()
        if not {**types.get(field.get("$ref"), {}), **field}.get("description")
    ]


def test_every_field_is_described() -> None:
    undescribed = _undescribed(SpeculatorFleet.model_json_schema())

    assert undescribed == []


def test_no_field_is_a_float() -> None:
    schema = SpeculatorFleet.model_json_schema()

    assert '"type": "number"' not in str(schema).replace("'", '"')
