"""Deltas as bytes: what is lost is bounded, and nothing else than a delta is accepted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_common import tensors
from specfleet_common.codecs import deltas
from specfleet_common.codecs.codec import Codec
from specfleet_common.codecs.tests.drawing import normal, shapes_of, tampered, tensor_maps
from specfleet_common.tensors import BLOCK, Array, TensorError

patient = settings(deadline=None)
codecs = pytest.mark.parametrize("codec", list(Codec))
rounding_codecs = [codec for codec in Codec if codec is not Codec.FLOAT32]


def decode(data: bytes, codec: Codec, shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    delta = deltas.open_delta(data, codec, shapes=shapes)
    return {
        name: np.concatenate([np.zeros(0, np.float32), *delta.blocks(name)]).reshape(shape)
        for name, shape in shapes.items()
    }


def several_blocks() -> dict[str, Array]:
    """Return tensors of one value, of less than a group, and of two blocks and a bit."""
    return {"a": normal(1, 1), "b": normal(2, 3, 33), "c": normal(3, 2 * BLOCK + 65)}


@codecs
def test_a_delta_of_several_blocks_keeps_its_shapes_and_blocks(codec: Codec) -> None:
    delta = several_blocks()
    data = deltas.encode(delta, codec)

    found = deltas.open_delta(data, codec, shapes=shapes_of(delta))

    assert found.shapes == shapes_of(delta)
    assert [block.size for block in found.blocks("c")] == [BLOCK, BLOCK, 65]


@pytest.mark.parametrize(
    ("codec", "num_bytes", "error"),
    [
        pytest.param(Codec.FLOAT32, 4.01, 0.0, id="float32"),
        pytest.param(Codec.BFLOAT16, 1.5, 0.002, id="bfloat16"),
        pytest.param(Codec.INT8, 1.0, 0.008, id="int8"),
        pytest.param(Codec.TERNARY, 0.15, 0.75, id="ternary"),
    ],
)
def test_bytes_per_value_and_relative_error_of_a_bell_curve(
    codec: Codec, num_bytes: float, error: float
) -> None:
    delta = {"w": normal(0, BLOCK, scale=5e-5)}

    data = deltas.encode(delta, codec)

    assert len(data) <= num_bytes * BLOCK
    lost = deltas.rounding_error(delta, data, codec)
    assert tensors.norm(lost) <= error * tensors.norm(delta)


@patient
@given(tensor_maps)
def test_float32_loses_nothing(delta: dict[str, Array]) -> None:
    decoded = decode(deltas.encode(delta, Codec.FLOAT32), Codec.FLOAT32, shapes_of(delta))

    for name, array in delta.items():
        np.testing.assert_array_equal(decoded[name], array)


@patient
@given(tensor_maps)
def test_bfloat16_rounds_every_value_to_its_nearest(delta: dict[str, Array]) -> None:
    decoded = decode(deltas.encode(delta, Codec.BFLOAT16), Codec.BFLOAT16, shapes_of(delta))

    for name, array in delta.items():
        expected = tensors.decode(tensors.encode({name: array}, "bfloat16"))[name]
        np.testing.assert_array_equal(decoded[name], expected)


@patient
@given(tensor_maps)
def test_int8_is_off_by_little_more_than_half_a_step_of_the_group(
    delta: dict[str, Array],
) -> None:
    decoded = decode(deltas.encode(delta, Codec.INT8), Codec.INT8, shapes_of(delta))

    for name, array in delta.items():
        flat = array.reshape(-1).astype(np.float64)
        for start in range(0, flat.size, 256):
            group = flat[start : start + 256]
            error = np.abs(decoded[name].reshape(-1)[start : start + 256] - group)
            # A scale rounds by up to 2^-9, and so does 127 times it; tiny ones have fewer bits.
            assert error.max() <= np.abs(group).max() / 127 * 0.76 + 2.0**-126


@patient
@given(tensor_maps)
def test_no_value_is_off_by_more_than_itself_in_ternary(delta: dict[str, Array]) -> None:
    decoded = decode(deltas.encode(delta, Codec.TERNARY), Codec.TERNARY, shapes_of(delta))

    for name, array in delta.items():
        assert (np.abs(decoded[name] - array.astype(np.float64)) <= np.abs(array)).all()


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_with_error_feedback_what_was_sent_and_what_is_left_is_all_there_was(
    rounds: int, seed: int
) -> None:
    residual: dict[str, Array] = {"w": np.zeros(200, np.float32)}
    wanted, sent = np.zeros(200), np.zeros(200)
    for round_ in range(rounds):
        delta = normal(seed + round_, 200)
        compensated = {"w": delta + residual["w"]}
        data = deltas.encode(compensated, Codec.TERNARY)
        residual = deltas.rounding_error(compensated, data, Codec.TERNARY)
        wanted += delta
        sent += decode(data, Codec.TERNARY, {"w": (200,)})["w"]

    np.testing.assert_allclose(sent + residual["w"], wanted, atol=1e-4)
    assert np.abs(residual["w"]).max() < 10


@codecs
def test_the_same_delta_makes_the_same_bytes(codec: Codec) -> None:
    one = deltas.encode({"a": normal(1, 300), "b": normal(2, 7)}, codec)
    other = deltas.encode({"b": normal(2, 7), "a": normal(1, 300)}, codec)

    assert one == other
    assert deltas.digest(one, codec) == deltas.digest(other, codec)


@codecs
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_never_decoded_as_if_it_were(codec: Codec, value: float) -> None:
    delta = normal(1, 300)
    delta[70] = value
    data = deltas.encode({"w": delta}, codec)

    try:
        decoded = decode(data, codec, {"w": (300,)})
    except TensorError:
        return
    assert not np.isfinite(decoded["w"]).all()


@codecs
def test_other_shapes_and_other_codecs_are_refused(codec: Codec) -> None:
    data = deltas.encode({"w": normal(1, 300)}, codec)

    with pytest.raises(TensorError, match=r"w: shape is \(300,\), expected \(299,\)"):
        deltas.open_delta(data, codec, shapes={"w": (299,)})
    for other in set(Codec) - {codec}:
        with pytest.raises(TensorError):
            deltas.open_delta(data, other, shapes={"w": (300,)})


@pytest.mark.parametrize("codec", rounding_codecs)
@given(st.data())
@settings(deadline=None, max_examples=200)
def test_tampered_bytes_are_refused_or_decoded_as_such_a_delta(
    codec: Codec, data: st.DataObject
) -> None:
    delta = {"a": normal(1, 5), "b": normal(2, 2, 70)}
    changed = data.draw(tampered(deltas.encode(delta, codec)))

    try:
        decoded = decode(changed, codec, shapes_of(delta))
    except TensorError:
        return
    assert shapes_of(decoded) == shapes_of(delta)


@pytest.mark.parametrize("codec", rounding_codecs)
@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=50)
def test_any_bytes_are_refused(codec: Codec, data: bytes) -> None:
    with pytest.raises(TensorError):
        deltas.open_delta(data, codec, shapes={"w": (3,)})
