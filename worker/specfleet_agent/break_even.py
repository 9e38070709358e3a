"""Does speculation pay in this engine? From what its pages counted in the last minutes. Pure.

A step with n requests takes V + D: verification and all else, and drafting. Without speculation it
would take P, and put out one token per request. So drafts pay if a verify step puts out more than
(V + D) / P tokens. V and D are measured, and P where the engine may leave out the drafts of a step
now and then. Elsewhere P is taken to be V less the drafted tokens, at what a token more costs this
engine in steps of many sizes. See docs/promotion.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from specfleet_agent.engine_page import BandCosts, Costs, EnginePage, Moments
from specfleet_common.wire.messages import Speculation

WINDOW_SECONDS = 600.0
SPACING_SECONDS = 15.0
FEWEST_STEPS = 100
"""Of a band, and of a window: fewer say too little of a machine that others use as well."""
FEWEST_PLAIN_STEPS = 20
"""Of a band, for its P to be measured."""
_INDEPENDENT = 0.05
"""How much of what one sum varies by the other must not explain, to tell their costs apart."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What an engine had counted at a time."""

    at: float
    incarnation: str
    verify_steps: int
    output_tokens: int
    costs: Costs


@dataclass(frozen=True, slots=True)
class Window:
    """What one engine had counted in the last minutes, oldest first."""

    counted: tuple[Counted, ...] = ()

    def plus(self, page: EnginePage, *, now: float) -> Window:
        """Return the window with a page, unless the newest is of a moment ago.

        An engine that has started anew starts over; older ones do not count what is needed.
        """
        newest = self.counted[-1] if self.counted else None
        if page.costs is None:
            return Window()
        if newest is not None and newest.incarnation != page.incarnation:
            return Window((_counted(page, page.costs, now),))
        if newest is not None and now < newest.at + SPACING_SECONDS:
            return self
        kept = (*self.counted, _counted(page, page.costs, now))
        while len(kept) > 1 and kept[1].at <= now - WINDOW_SECONDS:
            kept = kept[1:]
        return Window(kept)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From which acceptance length on drafts pay: by batch band, and for the engine's own mix."""

    bands: Mapping[int, float] = field(default_factory=dict)
    speculation: Speculation | None = None
    """None while the engine has done too little."""


def break_even(window: Window) -> BreakEven:
    """Return what the window says."""
    if len(window.counted) < 2:
        return BreakEven()
    first, last = window.counted[0], window.counted[-1]
    token_seconds = seconds_per_token(_less(last.costs.moments, first.costs.moments))
    before = {one.band: one for one in first.costs.bands}
    bands = [_less(one, before.get(one.band, BandCosts(one.band))) for one in last.costs.bands]
    known = [one for one in bands if one.steps >= FEWEST_STEPS]
    verify_steps = last.verify_steps - first.verify_steps
    if not known or verify_steps < FEWEST_STEPS:
        return BreakEven()
    spent = {one.band: one.verify_seconds + one.draft_seconds for one in known}
    plain = {one.band: plain_seconds(one, token_seconds) for one in known}
    return BreakEven(
        bands={band: spent[band] / plain[band] for band in spent if plain[band] > 0},
        speculation=Speculation(
            acceptance_length=(last.output_tokens - first.output_tokens) / verify_steps,
            break_even_length=sum(spent.values()) / sum(plain.values()),
            verify_steps=verify_steps,
        ),
    )


def plain_seconds(band: BandCosts, token_seconds: float) -> float:
    """Return how long the steps of a band would have taken without speculation.

    Estimated, it is at least as long as if time were in proportion to tokens.
    """
    if band.plain_steps >= FEWEST_PLAIN_STEPS:
        return band.steps * band.plain_seconds / band.plain_steps
    drafted = band.tokens - band.requests
    proportional = band.verify_seconds * band.requests / band.tokens
    return max(band.verify_seconds - token_seconds * drafted, proportional)


def seconds_per_token(moments: Moments) -> float:
    """Return what a token more costs a step of as many requests, by least squares; at least 0.

    0 where steps differ too little to tell: break-even is then what it is at least.
    """
    if moments.steps < FEWEST_STEPS:
        return 0.0
    steps = moments.steps
    requests, tokens, seconds = (
        total / steps for total in (moments.requests, moments.tokens, moments.seconds)
    )
    requests_requests = moments.requests_requests / steps - requests * requests
    requests_tokens = moments.requests_tokens / steps - requests * tokens
    tokens_tokens = moments.tokens_tokens / steps - tokens * tokens
    requests_seconds = moments.requests_seconds / steps - requests * seconds
    tokens_seconds = moments.tokens_seconds / steps - tokens * seconds
    if requests_requests <= 0:
        return max(0.0, tokens_seconds / tokens_tokens) if tokens_tokens > 0 else 0.0
    both = requests_requests * tokens_tokens
    determinant = both - requests_tokens * requests_tokens
    if determinant <= _INDEPENDENT * both:
        return 0.0
    found = requests_requests * tokens_seconds - requests_tokens * requests_seconds
    return max(0.0, found / determinant)


Sums = TypeVar("Sums", BandCosts, Moments)


def _less(after: Sums, before: Sums) -> Sums:
    """Return what came in between."""
    names = (one.name for one in fields(after) if one.name != "band")
    return replace(after, **{name: getattr(after, name) - getattr(before, name) for name in names})


def _counted(page: EnginePage, costs: Costs, now: float) -> Counted:
    return Counted(
        at=now,
        incarnation=page.incarnation,
        verify_steps=sum(drafter.verify_steps for drafter in page.drafters),
        output_tokens=sum(drafter.output_tokens for drafter in page.drafters),
        costs=costs,
    )
