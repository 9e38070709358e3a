"""What an engine of several ranks runs: what all of them say that they run. Pure.

Ranks exchange weights before the same step and write their pages a moment apart. While these
differ, nothing is known of the engine; when they go on to differ, it runs no version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from specfleet_agent.engine_page import EnginePage, PageError, Word, require_adapted
from specfleet_common.fields import LARGEST_COUNT, Count
from specfleet_common.lineage import MISMATCH, short
from specfleet_common.mistakes import summary

UNKNOWN = ""


@checked_dataclass(frozen=True, slots=True)
class RankPage:
    """What is needed of the page of a rank that is not the first."""

    incarnation: Word
    beats: Count
    engine: Word
    observed_digest: Word
    mismatches: Count
    adapting: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank that is not the first; `problem` says why it is not known what it runs."""

    observed_digest: str = UNKNOWN
    mismatches: int = 0
    problem: str = ""


_PAGE = TypeAdapter(RankPage)


def decode(payload: Mapping[str, object]) -> RankPage:
    """Return the page; what else is on it is left alone.

    PageError for another content, and for a rank that says why it cannot be adapted.
    """
    require_adapted(payload, told_with="engine")
    try:
        return _PAGE.validate_python(payload)
    except ValidationError as error:
        raise PageError(f"its page is not one of this version: {summary(error)}") from error


def rank(page: RankPage, first: EnginePage) -> Rank:
    """Return what a page says of a rank of the engine whose first rank's page is given."""
    if page.engine != first.engine:
        return Rank(problem="its page is of another engine")
    problem = "" if page.adapting else f"it no longer adapts: {page.reason}"
    return Rank(page.observed_digest, page.mismatches, problem)


def difference(first: EnginePage, others: Mapping[int, Rank]) -> str:
    """Say which rank is not known to run what the first one runs; nothing while all do."""
    for number, other in others.items():
        if other.problem:
            return f"rank {number}: {other.problem}"
        if other.observed_digest != first.observed_digest:
            return (
                f"rank {number} runs {short(other.observed_digest)}, "
                f"expected {short(first.observed_digest)} as in rank 0"
            )
    return ""


def joined(
    first: EnginePage, others: Mapping[int, Rank], *, is_lasting: bool, num_lasting: int = 0
) -> EnginePage:
    """Return the engine's page: the first rank's, with what all ranks run.

    `is_lasting` says that they have differed for long, `num_lasting` how often that was a mismatch.
    """
    mismatches = first.mismatches + num_lasting + sum(one.mismatches for one in others.values())
    page = replace(first, mismatches=min(mismatches, LARGEST_COUNT))
    differs = difference(first, others)
    if not differs:
        return page
    if any(other.problem for other in others.values()):
        page = replace(page, adapting=False, reason=page.reason or differs) if is_lasting else page
        return _running(page, UNKNOWN)
    observed = {first.observed_digest, *(other.observed_digest for other in others.values())}
    return _running(page, MISMATCH if is_lasting or MISMATCH in observed else UNKNOWN)


def _running(page: EnginePage, observed: str) -> EnginePage:
    return replace(page, observed=observed, observed_digest=observed)
