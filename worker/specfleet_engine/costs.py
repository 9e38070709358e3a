"""What speculation costs this engine: the time of drafting, and that of all else, in its steps.

A step lasts from the end of the one before if a request of that one goes on in it: between two such
steps the engine prepares the next, with or without drafts. What the figures mean is decided by
whoever reads them (docs/promotion.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from specfleet_engine.step import Scheduled, Verified

MOST_TOKENS = 256
"""Of a step from which is learnt what a token more costs: far longer ones cost otherwise."""
PLAIN_EVERY = 200
"""After so many steps one is to go without drafts, so that its time is measured, not guessed."""


@dataclass(slots=True)
class BandCosts:
    """Steps in which every request had its drafts verified, and that drafted for all of them.

    And the few in which none had drafts, which put out one token for every request.
    """

    steps: int = 0
    requests: int = 0
    tokens: int = 0
    """That went through the target: of each request the one before its drafts, and those."""
    verify_seconds: float = 0.0
    """All time but that of drafting."""
    draft_seconds: float = 0.0
    plain_steps: int = 0
    plain_seconds: float = 0.0
    """All time but that of drafting."""


@dataclass(slots=True)
class Moments:
    """Sums over steps of up to `MOST_TOKENS` tokens, prefills too, and of products of two."""

    steps: int = 0
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """All time but that of drafting."""
    requests_requests: int = 0
    requests_tokens: int = 0
    tokens_tokens: int = 0
    requests_seconds: float = 0.0
    tokens_seconds: float = 0.0

    def add(self, requests: int, tokens: int, seconds: float) -> None:
        """Add one step."""
        self.steps += 1
        self.requests += requests
        self.tokens += tokens
        self.seconds += seconds
        self.requests_requests += requests * requests
        self.requests_tokens += requests * tokens
        self.tokens_tokens += tokens * tokens
        self.requests_seconds += requests * seconds
        self.tokens_seconds += tokens * seconds


class Costs:
    """Sums since the engine started. Times are given: they are those of the session's clock."""

    def __init__(self) -> None:
        self._bands: dict[int, BandCosts] = {}
        """By batch band, as in the counters of drafters."""
        self._moments = Moments()
        self._before: Collection[str] = ()
        self._ended_at = 0.0
        self._began_at = 0.0
        self._tokens = 0
        self._requests = 0
        self._is_pure = False
        self._is_plain = False
        self._since_plain = 0
        self._drafting_since = 0.0
        self._draft_seconds: float | None = None
        """None until the step under way has drafted."""

    @property
    def wants_plain(self) -> bool:
        """Return whether the next step should verify nothing: it has been long since one did."""
        return self._since_plain >= PLAIN_EVERY

    def step_begins(self, scheduled: Scheduled, *, at: float) -> None:
        """Take the beginning of a step."""
        goes_on = not set(self._before).isdisjoint(scheduled.request_ids)
        self._began_at = self._ended_at if goes_on else at
        self._before = scheduled.request_ids
        self._tokens = scheduled.num_tokens
        self._draft_seconds = None

    def verified(self, batch: Verified, *, at: float) -> None:
        """Take the end of verification: drafting begins."""
        self._requests = len(batch.request_ids)
        self._is_pure = bool(((batch.drafted > 0) & (batch.sampled > 0)).all())
        self._is_plain = (
            self._tokens == self._requests and not batch.drafted.any() and bool(batch.sampled.all())
        )
        self._drafting_since = at

    def drafted(self, *, at: float) -> None:
        """Take the end of drafting."""
        self._draft_seconds = at - self._drafting_since

    def step_ends(self, *, at: float) -> None:
        """Add the step, unless it did not draft."""
        self._ended_at = at
        if self._draft_seconds is None:
            return
        seconds = at - self._began_at - self._draft_seconds
        if self._tokens <= MOST_TOKENS:
            self._moments.add(self._requests, self._tokens, seconds)
        if not (self._is_pure or self._is_plain):
            return
        band = self._bands.setdefault(self._requests.bit_length(), BandCosts())
        if self._is_plain:
            self._since_plain = 0
            band.plain_steps += 1
            band.plain_seconds += seconds
        else:
            self._since_plain += 1
            band.steps += 1
            band.requests += self._requests
            band.tokens += self._tokens
            band.verify_seconds += seconds
            band.draft_seconds += self._draft_seconds

    def snapshot(self) -> Mapping[str, object]:
        """Return the sums as plain values."""
        return {
            "bands": [{"band": band, **asdict(one)} for band, one in sorted(self._bands.items())],
            "moments": asdict(self._moments),
        }
