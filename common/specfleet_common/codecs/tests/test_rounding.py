"""The bytes of one block: only what an encoder would write is decoded."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from specfleet_common.codecs import int8, ternary
from specfleet_common.tensors import Array, TensorError

ONES: Array = np.ones(5, np.float32)


def raw_of(coding: ModuleType, values: Array) -> bytes:
    return b"".join(coding.encode(values))


def replaced(raw: bytes, position: int, value: int) -> bytes:
    return raw[:position] + bytes([value]) + raw[position + 1 :]


def test_the_lengths_are_known_before_anything_is_encoded() -> None:
    for count in (1, 63, 64, 65, 256, 257):
        values = np.ones(count, np.float32)
        assert len(raw_of(int8, values)) == int8.raw_bytes(count)
        assert len(raw_of(ternary, values)) == ternary.raw_bytes(count)


def test_a_multiple_of_minus_128_is_refused() -> None:
    with pytest.raises(TensorError, match="a multiple is -128, expected at least -127"):
        int8.decode(replaced(raw_of(int8, ONES), 0, 0x80), 5)


def test_the_unused_ternary_code_is_refused() -> None:
    with pytest.raises(TensorError, match="a value has the code 3"):
        ternary.decode(replaced(raw_of(ternary, ONES), 0, 0b00001101), 5)


def test_a_group_that_is_filled_with_anything_is_refused() -> None:
    with pytest.raises(TensorError, match="the filling of the last group is not zero"):
        ternary.decode(replaced(raw_of(ternary, ONES), 1, 0b00000101), 5)


@pytest.mark.parametrize(
    ("high_byte", "reason"),
    [
        pytest.param(0x7F, "a scale is not finite", id="infinite"),
        pytest.param(0xBF, "a scale is negative", id="negative"),
    ],
)
def test_an_impossible_scale_is_refused(high_byte: int, reason: str) -> None:
    for coding in (int8, ternary):
        raw = raw_of(coding, ONES)[:-2] + bytes([0x80, high_byte])
        with pytest.raises(TensorError, match=reason):
            coding.decode(raw, 5)


def test_half_the_magnitude_is_zero_and_more_than_half_is_the_magnitude() -> None:
    values = np.array([1.0, 0.5, -0.5, 0.51, -0.51, 0.0], np.float32)

    decoded = ternary.decode(raw_of(ternary, values), 6)

    np.testing.assert_array_equal(decoded, np.array([1, 0, 0, 1, -1, 0], np.float32))
