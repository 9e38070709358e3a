"""Reads a SpeculatorFleet from a file; says file, field, value and expectation when it cannot.

Paths in the result are absolute. Whether they exist is for whoever uses them to say.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.store import Store

_LONGEST_VALUE = 80


class ManifestError(ValueError):
    """A manifest cannot be used; the message says where and why, one line per mistake."""


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key given twice instead of keeping the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key!r} is given twice, expected once",
                    problem_mark=key_node.start_mark,
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_fleet(path: Path) -> SpeculatorFleet:
    """Return the fleet in a YAML file; ManifestError when it is not exactly one right fleet."""
    fleet = parse_fleet(_read(path), source=str(path))
    folder = path.absolute().parent
    spec = fleet.spec
    target = spec.target.model_copy(update={"model": _absolute(spec.target.model, folder)})
    store = _with_absolute_paths(spec.store, folder)
    return fleet.model_copy(
        update={"spec": spec.model_copy(update={"target": target, "store": store})}
    )


def parse_fleet(text: str, *, source: str) -> SpeculatorFleet:
    """Return the fleet in YAML text, paths as written; `source` names the text in messages."""
    try:
        document = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ManifestError(f"{source}: not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ManifestError(
            f"{source}: is {_shown(document)}, expected a mapping with apiVersion, kind, metadata"
            " and spec"
        )
    try:
        # Through JSON, because strict pydantic takes a list for a tuple only from JSON.
        return SpeculatorFleet.model_validate_json(json.dumps(document, default=str))
    except ValidationError as error:
        lines = [f"{source}: {_sentence(mistake)}" for mistake in error.errors()]
        raise ManifestError("\n".join(lines)) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error


def _with_absolute_paths(store: Store, folder: Path) -> Store:
    if store.directory is not None:
        path = _absolute(store.directory.path, folder)
        directory = store.directory.model_copy(update={"path": path})
        return store.model_copy(update={"directory": directory})
    assert store.s3 is not None
    if store.s3.ca_file is None:
        return store
    s3 = store.s3.model_copy(update={"ca_file": _absolute(store.s3.ca_file, folder)})
    return store.model_copy(update={"s3": s3})


def _absolute(path: str, folder: Path) -> str:
    return str((folder / Path(path).expanduser()).resolve())


def _sentence(mistake: Any) -> str:
    location: tuple[str | int, ...] = mistake["loc"]
    field, value = _dotted(location), _shown(mistake["input"])
    if mistake["type"] == "extra_forbidden":
        known = ", ".join(_fields_at(SpeculatorFleet, location[:-1]))
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
    """Return the path of a field; parts in angle brackets name a choice and are no fields."""
    path = ""
    for part in location:
        if not str(part).startswith("<"):
            path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _shown(value: object) -> str:
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
