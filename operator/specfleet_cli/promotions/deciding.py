"""Whether a user's decision about a promotion can be, and what comes of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specfleet_cli.promotions.listing import Listed
from specfleet_common.api.promoting import Mode
from specfleet_common.api.promotion import Decision


class DecisionError(ValueError):
    """The decision cannot be; the message says why, and what could be."""


def named(promotions: Sequence[Listed], name: str, *, elsewhere: str = "") -> Listed:
    """Return the promotion of that name; DecisionError when there is none.

    `elsewhere` says where promotions are that are not among these.
    """
    for promotion in promotions:
        if promotion.name == name:
            return promotion
    raise DecisionError(f"{name}: is no promotion here, expected {_one_of(promotions)}{elsewhere}")


def check(promotion: Listed, decision: Decision, mode: Mode) -> None:
    """Raise DecisionError when the decision contradicts what is decided already, or asks nobody."""
    name, state = promotion.name, promotion.state
    if promotion.has_ended:
        raise DecisionError(
            f"{name}: has ended, {state.outcome}, so nothing is left to decide; a later version "
            "gets a promotion of its own"
        )
    if decision is Decision.ABORT:
        return
    if promotion.decision is Decision.ABORT:
        raise DecisionError(
            f"{name}: was aborted, which is final; a later version gets a promotion of its own"
        )
    if mode is not Mode.MANUAL:
        raise DecisionError(
            f"{name}: waits for nobody, as promotion.mode is {mode}; only with Manual a candidate "
            "that has passed its canary waits for an approval"
        )


def what_next(promotion: Listed, decision: Decision, *, follow: str) -> str:
    """Say what comes of a decision, and how to see it; `follow` is the command that shows it."""
    name = promotion.name
    again = " already" if promotion.decision is decision else ""
    if decision is Decision.ABORT:
        said = (
            f"{name} is{again} aborted, for good: engines that run the candidate go back to the "
            "stable version within seconds, and training goes on."
        )
    elif promotion.state.waits_for_approval:
        said = f"{name} is{again} approved: the candidate now goes to all engines, a few at a time."
    else:
        said = (
            f"{name} is{again} approved in advance: it waits for nobody once its canary has "
            f"passed; until then it can still fail."
        )
    return f"{said} To follow it: {follow}"


def _one_of(promotions: Iterable[Listed]) -> str:
    names = [promotion.name for promotion in promotions]
    if not names:
        return "none: no version has been a candidate yet"
    more = f" or {len(names) - 5} older ones" if len(names) > 5 else ""
    return f"one of {', '.join(names[:5])}{more}"
