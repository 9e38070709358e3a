"""Manifests of fleets, and the settings file that is made of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specfleet_cli.planning.manifests import PlanError, fleets_of
from specfleet_common.api.cluster import fleet_from_object
from specfleet_common.api.learning import SettingsError, parse_settings
from specfleet_common.api.loading import ManifestError, load_fleet, parse_fleet
from specfleet_common.api.testing import fleet_object, learning, manifest
from tools.bad_input.case import Case, Section

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join([f'*{chr(97 + level)}'] * 10)}]\n"
    for level in range(9)
)


def sections() -> tuple[Section, ...]:
    """Return these sections."""
    return (
        Section(
            "Manifests",
            "`specfleet run` and `specfleet plan` print the words and start nothing. In a cluster "
            "the API server refuses what its schema and rules can tell; the rest is "
            "`SpecValid=False` with these words, and a running fleet stays as it is.",
            (
                _text("no YAML", "a: ["),
                _text("not a mapping", "[1, 2]"),
                _text("two documents", manifest() + "---\n" + manifest()),
                _text("a name twice", manifest() + "kind: SpeculatorFleet\n"),
                _text("a value that contains itself", "a: &a [*a]"),
                _text("a few lines that stand for a billion values", _BOMB),
                _text("thousands of brackets", "a: " + "[" * 400),
                _text("a day that is none", "a: 2024-13-99"),
                _file("more than a manifest has", b"a" * (2 << 20)),
                _file("no text", b"\xff\xfe\x00"),
                Case("no file", ManifestError, lambda place: load_fleet(place / "fleet.yaml")),
                _fleet("a field that does not exist", spec__trainer__learnRate="0.1"),
                _fleet("no model", spec__target=None),
                _fleet("too few draft tokens", spec__drafter__numSpeculativeTokens=0),
                _fleet("a number in place of a decimal", spec__trainer__learningRate=0.1),
                _fleet("text in place of a number", spec__replicas="2"),
                _fleet("an unknown word", spec__aggregation__codec="Zip"),
                _fleet("a name that makes no label", metadata__name="My Fleet"),
                _fleet("an argument that specfleet sets", spec__engine__args=["--port=1"]),
                _fleet(
                    "a variable that specfleet sets",
                    spec__engine__env=[{"name": "VLLM_PLUGINS", "value": "x"}],
                ),
                _fleet("a model outside its source", **_outside()),
                _fleet("two stores", spec__store={**_store(), "directory": {"path": "x"}}),
                _fleet("a store that is no address", spec__store={"s3": _bucket("s3:9000")}),
                _fleet("a thousand mistakes", spec__cohorts=[{"name": "A"}] * 1000),
                _object("a directory as the store of a cluster", **_directory()),
                Case("nothing to plan", PlanError, _plan),
            ),
        ),
        Section(
            "The settings file of an aggregator",
            "An aggregator does not start with a wrong one. While it runs, the last good settings "
            "stay in force; the words are the reason of `Aggregating`, and "
            "`specfleet_aggregator_settings_refused` is 1.",
            (
                _settings("no JSON", lambda good: b"{"),
                _settings("too large", lambda good: b" " * (1 << 17)),
                _settings("an unknown field", _with(newField=1)),
                _settings("a rate that is not finite", _with(learningRate=float("inf"))),
                _settings("no weight above zero", _with(depthWeights=[0.0, 0.0])),
                _settings("a washout as long as a block", _with(promotion=_washout())),
                _settings("another version of the schema", _with(schemaVersion=2)),
            ),
        ),
    )


def _text(what: str, text: str) -> Case:
    return Case(what, ManifestError, lambda _: parse_fleet(text, source="fleet.yaml"))


def _file(what: str, data: bytes) -> Case:
    def hand_in(place: Path) -> object:
        path = place / "fleet.yaml"
        path.write_bytes(data)
        return load_fleet(path)

    return Case(what, ManifestError, hand_in)


def _fleet(what: str, **changes: Any) -> Case:
    return _text(what, manifest(**changes))


def _object(what: str, **changes: Any) -> Case:
    return Case(what, ValueError, lambda _: fleet_from_object(fleet_object(**changes)))


def _plan(place: Path) -> object:
    path = place / "file.yaml"
    path.write_text("kind: Service\n")
    return fleets_of(str(path), "default", is_chosen=False)


def _settings(what: str, spoil: Callable[[dict[str, Any]], bytes]) -> Case:
    good = json.loads(learning().model_dump_json(by_alias=True))
    return Case(what, SettingsError, lambda _: parse_settings(spoil(good)))


def _with(**changes: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda good: json.dumps({**good, **changes}).encode()


def _washout() -> dict[str, float]:
    return {"washoutSeconds": 30.0, "blockSeconds": 30.0}


def _outside() -> dict[str, Any]:
    return {
        "spec__target__source": {"hostPath": {"path": "/models"}},
        "spec__target__model": "../../etc",
    }


def _bucket(endpoint: str) -> dict[str, Any]:
    return {"endpoint": endpoint, "bucket": "fleets"}


def _store() -> dict[str, Any]:
    return {"s3": _bucket("http://s3:9000")}


def _directory() -> dict[str, Any]:
    return {"spec__store": {"directory": {"path": "/data"}}}
