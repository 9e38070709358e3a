"""What a manifest says about learning, and the file that carries it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.api.learning import (
    MAX_FILE_BYTES,
    LearningSettings,
    SettingsError,
    learning_settings,
    parse_settings,
)
from specfleet_common.api.loading import parse_fleet
from specfleet_common.api.testing import learning, manifest
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule

positive = st.floats(min_value=1e-9, max_value=1e9)


def said(**changes: Any) -> LearningSettings:
    """Return what a manifest with some fields changed says."""
    fleet = parse_fleet(manifest(**changes), source="test")
    return learning_settings(fleet, uid="uid-1", generation=7)


def test_the_manifest_says_how_the_fleet_learns() -> None:
    settings = said(
        spec__aggregation={
            "localSteps": 30,
            "quorum": {"minimum": 2, "percent": 75},
            "leaseSeconds": 15,
            "maxRoundSeconds": 60,
            "combine": "TrimmedMean",
            "outer": {"learningRate": "1", "momentum": "0"},
            "codec": "Int8",
        },
        spec__trainer={"learningRate": "0.003", "rowsPerStep": 64, "publishEverySteps": 0},
    )

    assert settings == learning(
        generation=7,
        local_steps=30,
        quorum_minimum=2,
        quorum_percent=75,
        lease_seconds=15.0,
        max_round_seconds=60.0,
        heartbeat_seconds=1.0,
        combine="TrimmedMean",
        outer_learning_rate=1.0,
        outer_momentum=0.0,
        codec="Int8",
        learning_rate=0.003,
        rows_per_step=64,
        publish_every_steps=0,
    )


def test_an_aggregator_of_before_is_told_nothing_that_it_does_not_know_unless_it_must() -> None:
    mean = said(spec__aggregation={"combine": "Mean"}).to_json()
    trimmed = said(spec__aggregation={"combine": "TrimmedMean"}).to_json()

    assert "combine" not in json.loads(mean)
    assert json.loads(trimmed)["combine"] == "TrimmedMean"
    assert parse_settings(mean.encode()).combine is Rule.MEAN


def test_depth_weights_decay_unless_they_are_given() -> None:
    assert said().depth_weights == (1.0, 0.8, 0.64)
    assert said(spec__trainer__depthWeights=["1", "1", "0.5"]).depth_weights == (1.0, 1.0, 0.5)


def test_depths_are_weighed_by_dpace_only_where_the_manifest_says_so() -> None:
    adaptive = said(spec__trainer__depthWeighting="DPACE")

    assert not said().dpace
    assert adaptive.dpace
    assert len(adaptive.depth_weights) == 3


@given(
    codec=st.sampled_from(Codec),
    weights=st.lists(positive, min_size=1, max_size=8).map(tuple),
    rate=positive,
    generation=st.integers(0, 1 << 40),
)
def test_reading_undoes_writing(
    codec: Codec, weights: tuple[float, ...], rate: float, generation: int
) -> None:
    settings = learning(
        codec=codec, depth_weights=weights, learning_rate=rate, generation=generation
    )

    assert parse_settings(settings.to_json().encode()) == settings


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"quorumPercent": 0}, "quorumPercent: is 0, expected greater", id="bound"),
        pytest.param(
            {"localSteps": "100"}, 'localSteps: is "100", expected a valid integer', id="type"
        ),
        pytest.param(
            {"leaseSeconds": 1e999}, "leaseSeconds: is Infinity, expected a finite", id="infinite"
        ),
        pytest.param({"depthWeights": [0, 0]}, "all depth weights are zero", id="no-weight"),
        pytest.param({"schemaVersion": 2}, "schemaVersion: is 2, expected 1", id="schema"),
        pytest.param({"newField": 1}, "newField: unknown field", id="unknown"),
        pytest.param({"fleetUid": ""}, 'fleetUid: is "", expected text to', id="no-fleet"),
        pytest.param(
            {"promotion": {"blockSeconds": 5, "washoutSeconds": 5}},
            "expected less than blockSeconds",
            id="all-washout",
        ),
    ],
)
def test_a_file_that_is_not_right_is_refused(changes: dict[str, object], reason: str) -> None:
    document = {**json.loads(learning().to_json()), **changes}

    with pytest.raises(SettingsError, match=reason):
        parse_settings(json.dumps(document).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff" * 9])
def test_what_is_no_settings_file_at_all_is_refused(data: bytes) -> None:
    with pytest.raises(SettingsError):
        parse_settings(data)


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(SettingsError, match=f"expected at most {MAX_FILE_BYTES}"):
        parse_settings(b" " * (MAX_FILE_BYTES + 1))
