"""Which specs are carried out, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specfleet_operator.observed import Images
from specfleet_operator.reading import Problem, read
from specfleet_operator.rendering.subject import Subject
from specfleet_operator.tests.building import FACTS, fleet


def test_a_right_spec_is_read_with_its_generation_and_its_identity() -> None:
    found = read(fleet(generation=4), FACTS)

    assert isinstance(found, Subject)
    assert (found.generation, found.uid, found.name) == (4, "uid-of-demo", "demo")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"replicas": -1}, "spec.replicas: is -1, expected", id="out-of-bounds"),
        pytest.param({"cohorts": [{"name": "aggregator"}]}, "spec.cohorts: 'aggr", id="taken-name"),
        pytest.param({"store": {"directory": {"path": "x"}}}, "spec.store.directory:", id="store"),
        pytest.param({"target": {"model": "x"}}, "spec.target.source:", id="source"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], words: str) -> None:
    found = read(fleet(**changes), FACTS)

    assert isinstance(found, Problem)
    assert found.reason == "Invalid"
    assert words in found.message


def test_an_image_is_needed_where_the_operator_has_no_default() -> None:
    bare = replace(FACTS, images=Images("agent", "aggregator", default_engine=""))

    without, given = read(fleet(), bare), read(fleet(engine__image="vllm"), bare)

    assert isinstance(without, Problem)
    assert without.reason == "EngineImageMissing"
    assert isinstance(given, Subject)
