"""Does a head draft offline what an engine drafted? And the ways in which tests break that.

The rows come from real traffic; a head that is only nearly the engine's must not pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specfleet_common.tensors import decode, encode
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.replay import DepthParity, compare_drafts
from specfleet_trainer.sequences import Sequence as Rows

DEPTHS = 3


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many drafts of a depth have to be equal, and what the others have to be."""

    least_equal: float
    near_tie_sigmas: float
    """How far the engine's token may be behind the head's, in standard deviations of the logits."""


EXACT = Bounds(least_equal=0.99, near_tie_sigmas=0.02)
"""Where both compute in float32."""


def parity(head: Head, tables: Tables, rows: Sequence[Rows]) -> list[DepthParity]:
    """Add up the parity of all complete requests, depth by depth."""
    compared = [compare_drafts(head, tables, row, DEPTHS) for row in rows if row.complete]
    return [
        DepthParity(
            equal=sum(part.equal for part in parts),
            total=sum(part.total for part in parts),
            differences=tuple(d for part in parts for d in part.differences),
        )
        for parts in zip(*compared, strict=True)
    ]


def has_parity(depths: Sequence[DepthParity], bounds: Bounds = EXACT) -> bool:
    """Say whether nearly all drafts are equal at each depth and every difference is a near-tie."""
    return all(
        depth.total > 0
        and depth.equal >= bounds.least_equal * depth.total
        and all(d.gap_sigmas < bounds.near_tie_sigmas for d in depth.differences)
        for depth in depths
    )


def with_noise(
    weights: bytes, *, share: float, only: str | None = None, dtype: str = "float32"
) -> bytes:
    """Return the weights with noise of `share` of each tensor's size added, or of `only` one's."""
    rng = np.random.default_rng(0)
    noisy = {
        name: value
        if only not in (None, name)
        else (value + share * value.std() * rng.standard_normal(value.shape)).astype(np.float32)
        for name, value in decode(weights).items()
    }
    return encode(noisy, dtype)


def fed_with_own_drafts(row: Rows) -> Rows:
    """Feed each row the engine's draft for it, as a trainer without the tree mask would."""
    fed = row.fed.copy()
    for at, drafts in row.drafts.items():
        fed[at + 1 : at + 2] = drafts.tokens[0] if at + 1 < row.rows else fed[at + 1 : at + 2]
    return replace(row, fed=fed)
