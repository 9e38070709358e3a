"""Reads a SpeculatorFleet from a file; says file, field, value and expectation when it cannot.

Paths in the result are absolute. Whether they exist is for whoever uses them to say.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.mistakes import sentences
from specfleet_common.api.store import Store
from specfleet_common.api.target import Target
from specfleet_common.api.yaml_text import YamlError, read_document
from specfleet_common.files import read_small
from specfleet_common.mistakes import shown


class ManifestError(ValueError):
    """A manifest cannot be used; the message says where and why, one line per mistake."""


def load_fleet(path: Path) -> SpeculatorFleet:
    """Return the fleet in a YAML file; ManifestError when it is not exactly one right fleet."""
    fleet = parse_fleet(_read(path), source=str(path))
    folder = path.absolute().parent
    spec = fleet.spec
    model = _absolute(spec.target.model, _source(spec.target, folder))
    target = spec.target.model_copy(update={"model": model})
    store = _with_absolute_paths(spec.store, folder)
    return fleet.model_copy(
        update={"spec": spec.model_copy(update={"target": target, "store": store})}
    )


def parse_fleet(text: str, *, source: str) -> SpeculatorFleet:
    """Return the fleet in YAML text, paths as written; `source` names the text in messages."""
    try:
        document = read_document(text)
    except YamlError as error:
        raise ManifestError(f"{source}: {error}") from error
    if not isinstance(document, dict):
        raise ManifestError(
            f"{source}: is {shown(document)}, expected a mapping with apiVersion, kind, metadata"
            " and spec"
        )
    try:
        # Through JSON, because strict pydantic takes a list for a tuple only from JSON.
        written = json.dumps(document, default=str)
    except (ValueError, RecursionError) as error:
        # A hexadecimal number may have more digits than Python writes.
        raise ManifestError(f"{source}: cannot be written as JSON: {error}") from error
    try:
        return SpeculatorFleet.model_validate_json(written)
    except ValidationError as error:
        lines = [f"{source}: {line}" for line in sentences(error, SpeculatorFleet)]
        raise ManifestError("\n".join(lines)) from error


def _read(path: Path) -> str:
    try:
        return read_small(path).decode()
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error


def _source(target: Target, folder: Path) -> Path:
    """Return what the path of the model is relative to; a claim has no place on this machine."""
    if target.source is None or target.source.host_path is None:
        return folder
    return Path(target.source.host_path.path)


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
