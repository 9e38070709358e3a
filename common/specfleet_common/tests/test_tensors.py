"""Tensors as bytes: decoding undoes encoding, and nothing else is accepted."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save

from specfleet_common.tensors import (
    Array,
    TensorError,
    content_digest,
    content_digest_of_file,
    decode,
    dtype_of,
    encode,
    encode_parts,
    encoded_digest,
    encoded_size_bytes,
    is_finite,
    norm,
    shapes_of,
    view,
)

arrays = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements=st.floats(width=32, allow_nan=False),
)
tensor_maps = st.dictionaries(st.text(min_size=1, max_size=8), arrays, min_size=1, max_size=4)
names = pytest.mark.parametrize("dtype", ["float32", "bfloat16"])


def two() -> dict[str, Array]:
    return {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones(2, np.float32)}


def raw(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@given(tensor_maps)
def test_decoding_undoes_encoding(tensors: dict[str, Array]) -> None:
    decoded = decode(encode(tensors), shapes={name: a.shape for name, a in tensors.items()})

    assert decoded.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(decoded[name], array)


@given(tensor_maps)
def test_encoding_what_was_decoded_from_bfloat16_changes_nothing(
    tensors: dict[str, Array],
) -> None:
    data = encode(tensors, "bfloat16")

    assert encode(decode(data), "bfloat16") == data


@given(tensor_maps, st.sampled_from(["float32", "bfloat16"]))
def test_digest_and_size_are_known_without_building_the_bytes(
    tensors: dict[str, Array], dtype: str
) -> None:
    data = encode(tensors, dtype)

    assert encoded_digest(tensors, dtype) == content_digest(data)
    assert encoded_size_bytes(tensors, dtype) == len(data)
    assert b"".join(encode_parts(tensors, dtype)) == data


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        pytest.param(1.0, 0x3F80, id="exact"),
        pytest.param(1.0 + 2**-8, 0x3F80, id="half-goes-to-even-below"),
        pytest.param(1.0 + 3 * 2**-8, 0x3F82, id="half-goes-to-even-above"),
        pytest.param(1.0 + 2**-8 + 2**-20, 0x3F81, id="more-than-half-goes-up"),
        pytest.param(-0.0, 0x8000, id="negative-zero"),
        pytest.param(3.4e38, 0x7F80, id="overflow-is-infinite"),
        pytest.param(np.nan, 0x7FC0, id="nan-stays-nan"),
    ],
)
def test_bfloat16_rounds_to_nearest_even(value: float, bits: int) -> None:
    data = encode({"x": np.array([value], np.float32)}, "bfloat16")

    assert struct.unpack("<H", data[-2:]) == (bits,)


def test_a_signalling_nan_does_not_become_infinite() -> None:
    nan = np.array([0x7F800001], np.uint32).view(np.float32)

    data = encode({"x": nan}, "bfloat16")

    assert np.isnan(decode(data)["x"]).all()


def test_the_reference_library_reads_what_we_write_and_we_read_what_it_writes() -> None:
    ours = load(encode(two()))
    theirs = decode(save(two(), metadata={"format": "np"}))

    for name, array in two().items():
        np.testing.assert_array_equal(ours[name], array)
        np.testing.assert_array_equal(theirs[name], array)


def test_the_digest_does_not_depend_on_the_header() -> None:
    a, b = struct.pack("<f", 1), struct.pack("<f", 2)
    rows = {"dtype": "F32", "shape": [1]}
    forward = raw(
        {"a": rows | {"data_offsets": [0, 4]}, "b": rows | {"data_offsets": [4, 8]}}, a + b
    )
    backward = raw(
        {
            "__metadata__": {"x": "y"},
            "b": rows | {"data_offsets": [0, 4]},
            "a": rows | {"data_offsets": [4, 8]},
        },
        b + a,
    )

    assert content_digest(forward) == content_digest(backward)


def test_the_digest_depends_on_name_shape_dtype_and_value() -> None:
    one = np.ones((2, 2), np.float32)
    variants = [
        encode({"a": one}),
        encode({"b": one}),
        encode({"a": one.reshape(4)}),
        encode({"a": one}, "bfloat16"),
        encode({"a": one * 2}),
    ]

    assert len({content_digest(data) for data in variants}) == len(variants)


@names
def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path, dtype: str) -> None:
    large = {"x": np.arange(700_000, dtype=np.float32), "y": np.ones(3, np.float32)}
    path = tmp_path / "file"
    path.write_bytes(encode(large, dtype))

    assert content_digest_of_file(path) == content_digest(path.read_bytes())


@names
def test_the_header_alone_tells_dtype_and_shapes(dtype: str) -> None:
    data = encode(two(), dtype)

    assert dtype_of(data) == dtype
    assert shapes_of(data) == {"a": (2,), "b": (2, 3)}


def test_a_view_shows_the_bytes_and_cannot_write_them() -> None:
    views = view(encode(two()), shapes={"a": (2,), "b": (2, 3)})

    np.testing.assert_array_equal(views["b"], two()["b"])
    assert not views["b"].flags.writeable


ROW = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
FOUR = bytes(4)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "too few", id="empty"),
        pytest.param(struct.pack("<Q", 1 << 60), "header is", id="endless-header"),
        pytest.param(raw(b"{", b""), "not JSON", id="not-json"),
        pytest.param(raw([], b""), "expected an object", id="not-an-object"),
        pytest.param(raw({}, b""), "at least one", id="no-tensors"),
        pytest.param(raw({"a": ROW | {"dtype": "F16"}}, FOUR), "dtype is 'F16'", id="dtype"),
        pytest.param(raw({"a": ROW | {"dtype": []}}, FOUR), r"dtype is \[\]", id="dtype-type"),
        pytest.param(raw({"a": ROW | {"shape": [-1]}}, FOUR), "whole numbers", id="negative"),
        pytest.param(raw({"a": ROW | {"shape": [True]}}, FOUR), "whole numbers", id="boolean"),
        pytest.param(raw({"a": ROW | {"shape": [2]}}, FOUR), "needs 8", id="shape"),
        pytest.param(raw({"a": ROW | {"x": 1}}, FOUR), "its entry is", id="unknown-field"),
        pytest.param(raw({"a": ROW}, bytes(8)), "there are 16|there are", id="trailing-bytes"),
        pytest.param(raw({"a": ROW}, bytes(3)), "there are", id="truncated"),
        pytest.param(raw({"a": ROW, "b": ROW}, FOUR), "begins at byte", id="overlap"),
        pytest.param(
            raw(
                b'{"a":' + json.dumps(ROW).encode() + b',"a":' + json.dumps(ROW).encode() + b"}",
                FOUR,
            ),
            "occurs twice",
            id="repeated-name",
        ),
    ],
)
def test_other_bytes_are_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(TensorError, match=reason):
        decode(data)

    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(TensorError, match=reason):
        content_digest_of_file(path)


@given(st.data())
def test_no_damage_is_worse_than_a_tensor_error(data: st.DataObject) -> None:
    good = bytearray(encode(two()))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    damaged = bytes(good[: data.draw(st.integers(0, len(good)))])

    try:
        decode(damaged, shapes={"a": (2,), "b": (2, 3)})
    except TensorError:
        return
    assert len(damaged) == len(good)


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        pytest.param({"a": (2,)}, r"extra \['b'\]", id="extra"),
        pytest.param({"a": (2,), "b": (2, 3), "c": ()}, r"missing \['c'\]", id="missing"),
        pytest.param({"a": (2,), "b": (3, 2)}, r"b: shape is \(2, 3\)", id="shape"),
    ],
)
def test_shapes_must_be_the_expected_ones(shapes: dict[str, tuple[int, ...]], reason: str) -> None:
    with pytest.raises(TensorError, match=reason):
        decode(encode(two()), shapes=shapes)


def test_only_float32_arrays_are_encoded() -> None:
    with pytest.raises(TensorError, match="float64, expected float32"):
        encode({"a": np.ones(1, np.float64)})


def test_norm_and_finiteness_look_at_every_tensor() -> None:
    assert norm({"a": np.array([3.0], np.float32), "b": np.array([4.0], np.float32)}) == 5.0
    assert is_finite(two())
    assert not is_finite({**two(), "c": np.array([1, np.inf], np.float32)})
