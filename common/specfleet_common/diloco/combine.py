"""How the deltas of a round become one. Every worker counts alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from specfleet_common.tensors import Array, TensorMap, blocks


class _Mean(Mapping[str, Array]):
    """Computes each tensor when it is asked for, so that only one is in memory at a time."""

    def __init__(self, deltas: Sequence[TensorMap]) -> None:
        self._deltas = deltas

    def __getitem__(self, name: str) -> Array:
        result = np.empty(self._deltas[0][name].shape, np.float32)
        sources = [blocks(delta[name]) for delta in self._deltas]
        for out, *parts in zip(blocks(result), *sources, strict=True):
            total = np.zeros(out.shape, np.float64)
            for part in parts:
                total += part
            out[:] = total / len(parts)
        return result

    def __iter__(self) -> Iterator[str]:
        return iter(self._deltas[0])

    def __len__(self) -> int:
        return len(self._deltas[0])


def mean(deltas: Sequence[TensorMap]) -> TensorMap:
    """Return the mean, computed tensor by tensor as they are asked for."""
    if not deltas:
        raise ValueError("there are no deltas, expected at least one")
    return _Mean(deltas)
