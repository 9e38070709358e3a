"""What engines serve that are on no trial: stable, or the version that a user has pinned."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from specfleet_aggregator.promotion.history import History
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_common.wire.messages import VersionRef


def served(
    history: History, policy: PromotionPolicy, versions: Mapping[int, VersionRef]
) -> VersionRef | None:
    """Return what engines serve, None while that is not known."""
    stable, pin = history.stable, policy.settings.pin
    if pin is not None and pin in versions:
        return versions[pin]
    return versions.get(stable.number) if stable else None


def trouble(
    history: History,
    policy: PromotionPolicy,
    missing: Collection[int],
    *,
    has_engines: bool,
) -> str:
    """Say that there is no such version as is pinned; nothing where nobody would serve it."""
    pin, stable = policy.settings.pin, history.stable
    if pin not in missing or stable is None or not has_engines:
        return ""
    return (
        f"promotion.pin: is {pin}, expected a version that is in the store; engines serve what is"
        f" stable, version {stable.number}"
    )
