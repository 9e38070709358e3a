"""Hidden states that are the same whenever a token is, so that a real trainer can learn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specfleet_common.tensors import to_bfloat16


def hidden_states(tokens: Sequence[int], *, size: int, dtype: str) -> NDArray[Any]:
    """Return one row of `size` values for each token, in the form the plugin captures."""
    rows = np.stack([_row(token, size) for token in tokens])
    if dtype == "float32":
        return rows
    return to_bfloat16(rows.reshape(-1)).reshape(rows.shape)


@lru_cache(maxsize=1024)
def _row(token: int, size: int) -> NDArray[np.float32]:
    return np.random.default_rng(token).standard_normal(size, np.float32)
