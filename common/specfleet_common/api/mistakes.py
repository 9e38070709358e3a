"""Says what is wrong with a resource: a sentence with field, value and expectation per mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from specfleet_common.mistakes import dotted, sentence, shortened


def sentences(error: ValidationError, resource: type[BaseModel]) -> list[str]:
    """Return a sentence per mistake that was found while a resource was read, up to ten."""
    return shortened(_sentence(mistake, resource) for mistake in error.errors())


def _sentence(mistake: Any, resource: type[BaseModel]) -> str:
    if mistake["type"] != "extra_forbidden":
        return sentence(mistake)
    location: tuple[str | int, ...] = mistake["loc"]
    known = ", ".join(_fields_at(resource, location[:-1]))
    return f"{dotted(location)}: unknown field, expected one of {known}"


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
