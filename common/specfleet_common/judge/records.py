"""What is known about a promotion: keyed records. Sets of them are united, nothing counts twice.

Records hold no text. Times are seconds since the promotion's switchback began.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeVar

LARGEST = 1e12
"""No amount is larger: sums of squares of very many stay finite."""


@dataclass(frozen=True, slots=True, order=True)
class Walk:
    """One complete held-out request, walked with every head: verify steps for the same tokens."""

    request: str
    conversation: str
    """The key of the conversation's first tokens; requests that share it are not independent."""
    domain: str
    """Names a part of the genesis set; empty for live traffic."""
    tokens: int
    candidate_steps: int
    stable_steps: int
    stock_steps: int

    def __post_init__(self) -> None:
        for name in ("candidate_steps", "stable_steps", "stock_steps"):
            steps = getattr(self, name)
            if not 1 <= steps <= self.tokens:
                raise ValueError(
                    f"walk of {self.request}: {name} is {steps}, expected 1 to {self.tokens} "
                    f"for {self.tokens} tokens"
                )

    @property
    def key(self) -> tuple[str | int, ...]:
        """Return the request, which is walked once."""
        return (self.request,)


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """What an engine did in one block of a switchback while its batch was in one band."""

    engine: str
    block: int
    band: int
    digest: str
    """What the engine ran by its own observation, past the washout."""
    swaps: int
    """How often weights were written into the engine for this block."""
    busy_seconds: float
    """Time in which the engine had work, past the washout."""
    tokens: int
    verify_steps: int

    def __post_init__(self) -> None:
        _refuse_absurd(self)

    @property
    def key(self) -> tuple[str | int, ...]:
        """Return the cell; an engine that ran two digests in a block leaves one record of each."""
        return (self.engine, self.block, self.band, self.digest)


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """One request that was served during a switchback, finished or failed."""

    request: str
    engine: str
    started: float
    digests: tuple[str, ...]
    """All drafters that proposed for it, sorted; empty when it failed before any did."""
    failed: bool
    ttft_seconds: float
    tpot_seconds: float
    """Zero when fewer than two tokens came."""
    preemptions: int

    def __post_init__(self) -> None:
        _refuse_absurd(self)

    @property
    def key(self) -> tuple[str | int, ...]:
        """Return the request's external id."""
        return (self.request,)


def batch_band(running_requests: int) -> int:
    """Return the band of a batch size: 1, 2 to 3, 4 to 7, … are bands 1, 2, 3, …; idle is 0."""
    return running_requests.bit_length()


@dataclass(frozen=True, slots=True)
class Records:
    """Records of all kinds."""

    walks: tuple[Walk, ...] = ()
    blocks: tuple[Block, ...] = ()
    requests: tuple[Request, ...] = ()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.walks) + len(self.blocks) + len(self.requests)


AnyRecord = TypeVar("AnyRecord", Walk, Block, Request)


def union(*reports: Iterable[AnyRecord]) -> tuple[AnyRecord, ...]:
    """Return every record once, sorted by key.

    Of two records under one key the greater one stays: the counts of a cell only grow, and a choice
    that does not depend on the order of arrival is the same after every restart.
    """
    kept: dict[tuple[str | int, ...], AnyRecord] = {}
    for report in reports:
        for record in report:
            known = kept.get(record.key)
            kept[record.key] = record if known is None else max(known, record)
    return tuple(kept[key] for key in sorted(kept))


def united(reports: Iterable[Records]) -> Records:
    """Return every record of some reports once, sorted."""
    known = tuple(reports)
    return Records(
        walks=union(*(report.walks for report in known)),
        blocks=union(*(report.blocks for report in known)),
        requests=union(*(report.requests for report in known)),
    )


def _refuse_absurd(record: Block | Request) -> None:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, int | float) and not 0 <= value <= LARGEST:
            raise ValueError(
                f"{type(record).__name__.lower()} {record.key}: {field.name} is {value}, "
                f"expected a number from 0 to {LARGEST:g}"
            )
