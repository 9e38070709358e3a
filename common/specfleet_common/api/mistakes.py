"""Says what is wrong with a resource: a sentence with field, value and expectation per mistake."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_LONGEST_VALUE = 80


def sentences(error: ValidationError, resource: type[BaseModel]) -> list[str]:
    """Return one sentence per mistake that was found while a resource was read."""
    return [_sentence(mistake, resource) for mistake in error.errors()]


def _sentence(mistake: Any, resource: type[BaseModel]) -> str:
    location: tuple[str | int, ...] = mistake["loc"]
    field, value = _dotted(location), shown(mistake["input"])
    if mistake["type"] == "extra_forbidden":
        known = ", ".join(_fields_at(resource, location[:-1]))
        return f"{field}: unknown field, expected one of {known}"
    if mistake["type"] == "missing":
        return f"{field}: is missing, expected a value"
    if mistake["type"] == "value_error":
        return f"{field}: {mistake['ctx']['error']}"
    expected = (
        mistake["msg"]
        .replace("Input should be", "expected")
        .replace("String should", "expected text to")
    )
    return f"{field}: is {value}, {expected}"


def _dotted(location: Sequence[str | int]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def shown(value: object) -> str:
    """Return a value as it may be written, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _fields_at(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    for part in location:
        if isinstance(part, str):
            field = next(f for f in model.model_fields.values() if f.alias == part)
            model = _model_in(field.annotation) or model
    return [str(field.alias) for field in model.model_fields.values()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
