"""What names and shapes of tensors may be, whoever says so; and how a refusal quotes them."""

from __future__ import annotations

import math

from specfleet_common.lineage import Shapes

MAX_VALUES = 1 << 48
"""Of one tensor, so that every machine can count its bytes."""
_MAX_DIMENSIONS = 32
"""As many as every numpy allows."""
_MAX_NAME_BYTES = 1024
_LONGEST_QUOTE = 200


class TensorError(ValueError):
    """Bytes or arrays are not the tensors they should be."""


def quoted(value: object) -> str:
    """Return a value of somebody else for a message: one that nobody has to scroll through."""
    text = ascii(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def checked_name(name: str) -> str:
    """Return a tensor's name; TensorError where it cannot be written down anywhere."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError as error:
        raise TensorError(f"a name is {quoted(name)}, expected characters of Unicode") from error
    if len(encoded) > _MAX_NAME_BYTES:
        raise TensorError(
            f"a name is {quoted(name)}, expected at most {_MAX_NAME_BYTES} bytes of UTF-8"
        )
    return name


def checked_shape(shape: object, name: str) -> tuple[int, ...]:
    """Return a shape that an array can have; TensorError, which names the tensor, for others."""
    if not isinstance(shape, list) or not all(type(length) is int for length in shape):
        raise TensorError(f"{name}: shape is {quoted(shape)}, expected whole numbers")
    if len(shape) > _MAX_DIMENSIONS:
        raise TensorError(f"{name}: {len(shape)} dimensions, expected at most {_MAX_DIMENSIONS}")
    # An empty tensor may not have gigantic sides either: numpy multiplies those.
    if min(shape, default=0) < 0 or math.prod(max(length, 1) for length in shape) > MAX_VALUES:
        raise TensorError(
            f"{name}: shape is {quoted(shape)}, expected whole numbers, at most {MAX_VALUES} values"
        )
    return tuple(shape)


def check_shapes(actual: Shapes, expected: Shapes) -> None:
    """Raise TensorError unless names and shapes are exactly the expected ones."""
    missing = sorted(set(expected) - set(actual))
    extra = sorted(set(actual) - set(expected))
    if missing or extra:
        raise TensorError(
            f"names differ from the expected ones: missing {quoted(missing)}, extra {quoted(extra)}"
        )
    for name, shape in sorted(expected.items()):
        if tuple(actual[name]) != tuple(shape):
            raise TensorError(f"{name}: shape is {tuple(actual[name])}, expected {tuple(shape)}")
