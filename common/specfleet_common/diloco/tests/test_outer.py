"""The outer step, against its formula in float64 and against committed numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.codecs import deltas as encoded
from specfleet_common.codecs.codec import Codec
from specfleet_common.codecs.deltas import Delta, Dense
from specfleet_common.diloco.combine import mean
from specfleet_common.diloco.outer import OuterState, initial_state, outer_step
from specfleet_common.tensors import Array, TensorError, encoded_digest

GOLDEN = Path(__file__).parent / "golden.json"


def drawn(seed: int) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    return {
        "a": generator.standard_normal((3, 4), np.float32),
        "b": generator.standard_normal(5, np.float32),
    }


def whole(delta: Delta) -> dict[str, Array]:
    return {
        name: np.concatenate(list(delta.blocks(name))).reshape(shape)
        for name, shape in delta.shapes.items()
    }


def ten_rounds() -> list[str]:
    """Return the digest of the parameters after each of ten rounds with three workers."""
    state = initial_state(drawn(0))
    digests = []
    for round_ in range(10):
        delta = mean([Dense(drawn(100 * round_ + worker)) for worker in (1, 2, 3)])
        state = outer_step(state, delta, lr=0.7, momentum=0.9)
        digests.append(encoded_digest(state.parameters))
    return digests


def test_ten_rounds_give_the_committed_numbers() -> None:
    expected = json.loads(GOLDEN.read_text())

    assert ten_rounds() == expected, (
        "the arithmetic changed: if that was the purpose, write the new digests to "
        f"{GOLDEN.name} in the same commit and say why"
    )


def test_the_step_is_nesterov() -> None:
    theta, v, d = drawn(1), drawn(2), drawn(3)

    state = outer_step(OuterState(theta, v), Dense(d), lr=0.7, momentum=0.9)

    for name in theta:
        velocity = 0.9 * v[name].astype(np.float64) + d[name]
        expected = theta[name] - 0.7 * (d[name] + 0.9 * velocity)
        np.testing.assert_allclose(state.velocity[name], velocity, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state.parameters[name], expected, rtol=1e-5, atol=1e-6)
        assert state.parameters[name].dtype == np.float32


def test_without_momentum_and_with_rate_one_the_step_is_federated_averaging() -> None:
    start = drawn(1)
    locals_ = [drawn(2), drawn(3)]
    deltas = [Dense({name: start[name] - local[name] for name in start}) for local in locals_]

    state = outer_step(initial_state(start), mean(deltas), lr=1.0, momentum=0.0)

    for name in start:
        average = (locals_[0][name] + locals_[1][name]) / 2
        np.testing.assert_allclose(state.parameters[name], average, rtol=1e-5, atol=1e-6)


def test_the_arguments_are_left_as_they_were() -> None:
    theta, d = drawn(1), drawn(3)

    outer_step(initial_state(theta), Dense(d), lr=0.7, momentum=0.9)

    for name in theta:
        np.testing.assert_array_equal(theta[name], drawn(1)[name])
        np.testing.assert_array_equal(d[name], drawn(3)[name])


def test_a_delta_of_another_shape_is_refused() -> None:
    delta = Dense({**drawn(3), "b": np.ones(1, np.float32)})

    with pytest.raises(TensorError, match=r"b: shape is \(1,\), expected \(5,\)"):
        outer_step(initial_state(drawn(1)), delta, lr=0.7, momentum=0.9)


@given(st.permutations([1, 2, 3, 4]))
def test_the_order_of_workers_does_not_matter_to_the_mean(order: list[int]) -> None:
    combined = whole(mean([Dense(drawn(seed)) for seed in order]))

    for name, array in whole(mean([Dense(drawn(seed)) for seed in (1, 2, 3, 4)])).items():
        np.testing.assert_allclose(combined[name], array, rtol=1e-6, atol=1e-7)


def test_tensors_larger_than_a_block_are_combined_whole() -> None:
    size = (1 << 20) + 7
    deltas = [Dense({"a": np.full(size, value, np.float32)}) for value in (1.0, 2.0)]

    combined = whole(mean(deltas))["a"]

    np.testing.assert_array_equal(combined, np.full(size, 1.5, np.float32))


@pytest.mark.parametrize("codec", list(Codec))
def test_encoded_deltas_are_combined_as_they_are_decoded(codec: Codec) -> None:
    size = (1 << 20) + 7
    delta = {"a": np.resize(np.array([1.0, -1.0, 0.0], np.float32), size)}
    opened = encoded.open_delta(encoded.encode(delta, codec), codec, shapes={"a": (size,)})

    combined = whole(mean([opened, Dense({"a": np.ones(size, np.float32)})]))["a"]

    np.testing.assert_allclose(combined, (delta["a"] + 1) / 2, atol=4e-3)


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        mean([])
