"""Every field of the resource is described: it is what `kubectl explain` shows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from specfleet_common.api.engine import Engine
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.quantities import amount
from specfleet_common.shm.ring import USUAL_BYTES


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


def test_the_least_shared_memory_holds_the_ring_of_an_engine_and_of_the_one_before_it() -> None:
    with pytest.raises(ValidationError, match="is 191Mi, expected at least 192Mi"):
        Engine.model_validate({"sharedMemory": "191Mi"})

    enough = Engine.model_validate({"sharedMemory": "192Mi"})
    assert amount(enough.shared_memory) >= 2 * USUAL_BYTES + (64 << 20)
