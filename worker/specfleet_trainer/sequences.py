"""What a head is trained on and judged by: the rows of one request, joined and cut.

Deliberately knows neither how rows arrive (joining) nor how they are fed to a head (batch).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Drafts:
    """What the engine drafted after one row, and the digest of the drafter that did."""

    digest: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """T rows of one request, contiguous from `first_position` on."""

    tokens: Int32
    """[T + 1]: the true tokens at the rows' positions, and the one after the last row."""
    fed: Int32
    """[T]: what the drafter got as the next token; untrue at the end of a chunk of prefill."""
    hidden: NDArray[np.float32] | NDArray[np.uint16]
    """[T, hidden] as captured: float32, or bfloat16 as the upper half of a float32."""
    prompt_tokens: int
    first_position: int = 0
    serial: int = 0
    key: int = 0
    held_out: bool = False
    complete: bool = True
    """Nothing is missing: no row was dropped, and none skipped by the prefix cache."""
    drafts: Mapping[int, Drafts] = field(default_factory=dict)
    """Row index -> what was drafted after that row."""
    ring: int = 0
    """The incarnation of the ring that it came through."""

    @property
    def id(self) -> str:
        """Return a name that no other request has, of this engine or another, at any time."""
        return f"{self.ring:016x}-{self.serial}"

    @property
    def rows(self) -> int:
        """Return T."""
        return len(self.fed)

    @property
    def first_output_row(self) -> int:
        """Return the row after which the engine drafts first: the prompt's last one."""
        return max(0, self.prompt_tokens - 1 - self.first_position)


def recorded(tokens: Int32, hidden: NDArray[np.float32], *, prompt_tokens: int = 0) -> Sequence:
    """Build a complete sequence from [T + 1] tokens and the hidden states of the first T."""
    if len(tokens) != len(hidden) + 1:
        raise ValueError(f"{len(tokens)} tokens for {len(hidden)} rows, expected one more")
    return Sequence(tokens=tokens, fed=tokens[1:], hidden=hidden, prompt_tokens=prompt_tokens)
