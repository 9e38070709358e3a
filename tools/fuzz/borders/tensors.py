"""Weights: safetensors, encoded deltas, patches between versions, compressed frames."""

from __future__ import annotations

import io
import json
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import safetensors

from specfleet_aggregator.checking import delta_fault
from specfleet_common import tensors
from specfleet_common.codecs import container, deltas, frames, patch
from specfleet_common.codecs.codec import Codec
from specfleet_common.tensors import Array, TensorError
from tools.fuzz.border import Border

SHAPES = {"a.weight": (3, 70), "b.bias": (5,), "c": (), "d": (0, 4)}
"""Of the drafter that the fuzzers know: whole groups and parts of them, one value, and none."""

_VALUE_BYTES = 4 * sum(math.prod(shape) for shape in SHAPES.values())
_CONTAINER = json.dumps(
    {"coding": "Int8", "tensors": [[name, shape] for name, shape in sorted(SHAPES.items())]}
).encode()


def weights(seed: int) -> dict[str, Array]:
    """Return drawn weights of these shapes."""
    drawn = np.random.default_rng(seed)
    return {name: drawn.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


def borders() -> tuple[Border, ...]:
    """Return the borders of weights."""
    plain = tuple(tensors.encode(weights(1), dtype) for dtype in ("float32", "bfloat16"))
    return (
        Border("safetensors", _take_tensors, (TensorError,), plain),
        Border("header of safetensors", _take_header, (TensorError,), _headers(), is_json=True),
        Border("safetensors in a file", _take_file, (TensorError,), plain),
        Border("weights in the bank", _take_weights, (TensorError,), plain),
        *(_delta(codec) for codec in Codec),
        Border(
            "header of encoded tensors",
            _take_container,
            (TensorError,),
            (_CONTAINER,),
            is_json=True,
        ),
        *(_patch(dtype) for dtype in ("float32", "bfloat16")),
        Border(
            "compressed frame",
            partial(frames.decompress, size_bytes=400),
            (TensorError,),
            (frames.compress([bytes(100), bytes(range(100)) * 3]),),
        ),
    )


def _take_tensors(data: bytes) -> None:
    shapes = tensors.shapes_of(data)
    decoded = tensors.decode(data, shapes=shapes)
    assert {name: array.shape for name, array in decoded.items()} == shapes
    tensors.content_digest(data)
    tensors.norm(decoded)
    if tensors.dtype_of(data) == "float32":
        tensors.view(data, shapes=shapes)


def _headers() -> tuple[bytes, ...]:
    """Return the JSON of a header, which `_take_header` puts before the right values."""
    data = tensors.encode(weights(1))
    return (data[8 : len(data) - _VALUE_BYTES].strip(),)


def _take_header(header: bytes) -> None:
    _take_tensors(len(header).to_bytes(8, "little") + header + bytes(_VALUE_BYTES))


def _take_container(header: bytes) -> None:
    frames_of_one = 3 * b"\1\0\0\0x"
    data = b"SFLEET1\n" + len(header).to_bytes(4, "little") + header + frames_of_one
    container.open_bytes(data, coding="Int8", shapes=SHAPES)


def _take_file(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        digest = tensors.content_digest_of_file(Path(file.name))
    assert digest == tensors.content_digest(data)


def _take_weights(data: bytes) -> None:
    """Hold what our parser takes to what safetensors' own takes: the engine uses both."""
    ours = tensors.shapes_of(data)
    theirs = {name: tuple(row["shape"]) for name, row in safetensors.deserialize(data)}  # type: ignore[no-untyped-call]
    assert theirs == ours, f"safetensors reads the shapes {theirs}, specfleet {ours}"


def _delta(codec: Codec) -> Border:
    def take(data: bytes) -> None:
        fault = delta_fault(
            memoryview(data),
            codec,
            digest=deltas.digest(data, codec),
            shapes=SHAPES,
            parameter_norm=1.0,
        )
        if fault is not None:
            raise TensorError(fault)

    good = deltas.encode(weights(2), codec)
    return Border(f"delta of {codec}", take, (TensorError,), (good,))


def _patch(dtype: str) -> Border:
    before, after = (tensors.encode(weights(seed), dtype) for seed in (3, 4))
    good = b"".join(patch.encode_parts(memoryview(before), memoryview(after)))
    return Border(f"patch of {dtype}", _patching(before), (TensorError,), (good,))


def _patching(before: bytes) -> Callable[[bytes], None]:
    def take(data: bytes) -> None:
        target = io.BytesIO()
        with tempfile.TemporaryFile() as base:
            base.write(before)
            base.flush()
            patch.apply(base, io.BytesIO(data), target)
        assert tensors.shapes_of(target.getvalue()) == SHAPES

    return take
