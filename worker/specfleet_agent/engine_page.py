"""What the engine says about itself on its rank page. It reads no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from specfleet_common.fields import Count, Digest
from specfleet_common.lineage import STOCK, Lineage
from specfleet_common.mistakes import summary
from specfleet_common.shm.layout import Layout

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Observed = Annotated[str, Field(pattern=r"^(stock|local|mismatch|[0-9a-f]{64})$")]
Word = Annotated[str, Field(max_length=128, pattern=r"^[!-~]*$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class PageError(ValueError):
    """The page is not what an engine of this version writes."""


class NotAdapted(PageError):
    """The engine cannot be adapted at all; `reason` is what it says about that."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the engine cannot be adapted: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Band:
    """Counters of one drafter while the engine's batch was in one band."""

    band: Count
    verify_steps: Count
    output_tokens: Count
    busy_seconds: Seconds


@dataclass(frozen=True, slots=True)
class Drafter:
    """Counters of one drafter since the engine started; older engines count no bands."""

    digest: Word
    verify_steps: Count
    drafted: tuple[Count, ...]
    accepted: tuple[Count, ...]
    output_tokens: Count
    busy_seconds: Seconds
    bands: tuple[Band, ...] | None = None


@dataclass(frozen=True, slots=True)
class BandCosts:
    """Steps of one batch band that verified drafts for all requests, or for none: plain ones."""

    band: Count
    steps: Count = 0
    requests: Count = 0
    tokens: Count = 0
    verify_seconds: Seconds = 0.0
    draft_seconds: Seconds = 0.0
    plain_steps: Count = 0
    plain_seconds: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over steps of many sizes, and of products of two, without the time of drafting."""

    steps: Count
    requests: Count
    tokens: Count
    seconds: Seconds
    requests_requests: Count
    requests_tokens: Count
    tokens_tokens: Count
    requests_seconds: Seconds
    tokens_seconds: Seconds


@dataclass(frozen=True, slots=True)
class Costs:
    """What speculation has cost since the engine started, whichever drafter it was."""

    bands: tuple[BandCosts, ...]
    moments: Moments


@dataclass(frozen=True, slots=True)
class Drafted:
    """A request that has ended, and all drafters that proposed for it; its name may come again."""

    request: str
    ended: Seconds
    digests: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """What was captured since the engine started."""

    taken_rows: Count
    dropped_records: Count


@dataclass(frozen=True, slots=True)
class Rows:
    """The shape of what engine and sidecar share, besides what the lineage says."""

    hidden_size: Annotated[int, Field(gt=0, lt=1 << 24)]
    hidden_dtype: Literal["float32", "bfloat16"]
    num_speculative_tokens: Annotated[int, Field(gt=0, lt=1 << 16)]


@dataclass(frozen=True, slots=True)
class EnginePage:
    """The engine's lineage, the drafter it was seen to run, and its counters."""

    incarnation: Word
    """Differs from start to start of the engine."""
    beats: Count
    """Grows several times a second while the engine lives."""
    lineage: Lineage
    rows: Rows
    stock_digest: Digest
    stock_file: FileName
    observed: Word
    observed_digest: Word
    bank_sequence: Count
    swaps: Count
    refused_banks: dict[str, Count]
    capture: Capture
    drafters: tuple[Drafter, ...]
    adapting: bool
    reason: str
    requests: tuple[Drafted, ...] = ()
    """The newest that have ended; older engines name none."""
    costs: Costs | None = None
    """None of older engines."""
    swap_apply_seconds: Seconds | None = None
    """How long the newest swap took; None before the first, and of older engines."""
    mismatches: Count = 0
    """How often the live weights were not what was applied; older engines do not count it."""
    engine: Word = ""
    """The same on the pages of all ranks of one engine, and of no other."""
    num_ranks: Annotated[int, Field(gt=0, le=1024)] = 1
    """Each has a page; older engines do not tell, and count as one."""

    @property
    def runs_stock(self) -> bool:
        """Return whether the live weights are the drafter as shipped."""
        return self.observed in (STOCK, self.stock_digest)

    def content(self, name: str) -> str:
        """Return the digest for which a drafter's name on this page stands, where it has one."""
        return self.stock_digest if name == STOCK else name

    @property
    def layout(self) -> Layout:
        """Return the layout of the shared memory."""
        return Layout(
            family=self.lineage.family,
            layout=self.lineage.layout,
            lineage_id=self.lineage.id,
            hidden_size=self.rows.hidden_size,
            hidden_dtype=self.rows.hidden_dtype,
            num_speculative_tokens=self.rows.num_speculative_tokens,
        )


def require_adapted(payload: Mapping[str, object], *, told_with: str) -> None:
    """Raise NotAdapted for the page of an engine that cannot be adapted.

    It says why, and nothing else; `told_with` is on every other page.
    """
    if told_with not in payload and payload.get("adapting") is False:
        # JSON has letters that no other text may have.
        reason = str(payload.get("reason", "")).encode(errors="backslashreplace").decode()
        raise NotAdapted(reason or "it does not say why")


_PAGE = TypeAdapter(EnginePage)
_WORDS = TypeAdapter(tuple[Word, ...])


def decode(payload: Mapping[str, object]) -> EnginePage:
    """Return the page; fields that a newer engine adds are left alone.

    PageError for another content, NotAdapted for an engine that says why it cannot be adapted.
    """
    require_adapted(payload, told_with="lineage")
    try:
        page = _PAGE.validate_python(payload)
        _WORDS.validate_python(astuple(page.lineage))
        return page
    except ValidationError as error:
        raise PageError(
            f"the engine's page is not one of this version: {summary(error)}"
        ) from error
