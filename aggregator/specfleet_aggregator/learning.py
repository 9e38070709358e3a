"""What the settings file means for rounds and workers, and when a new one is taken over. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specfleet_aggregator.fleet import Policy
from specfleet_aggregator.promotion.policy import PromotionPolicy
from specfleet_aggregator.publishing import Outer
from specfleet_aggregator.round import RoundPolicy
from specfleet_common.api.learning import LearningSettings, SettingsError, parse_settings
from specfleet_common.wire.messages import TrainingOrders


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings that count; `error` says why the newest file does not, nothing when it does."""

    settings: LearningSettings
    error: str = ""

    def policy(self, fleet: str) -> Policy:
        """Return what decisions depend on."""
        settings = self.settings
        return Policy(
            fleet=fleet,
            generation=settings.generation,
            round=RoundPolicy(
                quorum_minimum=settings.quorum_minimum,
                quorum_percent=settings.quorum_percent,
                max_round_seconds=settings.max_round_seconds,
            ),
            orders=TrainingOrders(
                local_steps=settings.local_steps,
                learning_rate=settings.learning_rate,
                depth_weights=settings.depth_weights,
                rows_per_step=settings.rows_per_step,
                publish_every_steps=settings.publish_every_steps,
                codec=settings.codec,
                dpace=settings.dpace,
            ),
            lease_seconds=settings.lease_seconds,
            heartbeat_seconds=settings.heartbeat_seconds,
            settings_error=self.error,
            promotion=PromotionPolicy(settings.promotion, settings.decisions),
        )

    @property
    def outer(self) -> Outer:
        """Return how deltas become a step, and how large it is."""
        settings = self.settings
        return Outer(settings.combine, settings.outer_learning_rate, settings.outer_momentum)


def take(in_force: InForce, data: bytes) -> InForce:
    """Return what is in force once the file says `data`: that, or why it is not."""
    try:
        settings = parse_settings(data)
    except SettingsError as error:
        return refuse(in_force, str(error))
    known = in_force.settings
    if settings.fleet_uid != known.fleet_uid:
        reason = f"fleetUid: is {settings.fleet_uid}, expected {known.fleet_uid} as at the start"
        return refuse(in_force, reason)
    if settings.generation < known.generation:
        reason = f"generation: is {settings.generation}, expected at least {known.generation}"
        return refuse(in_force, reason)
    return InForce(settings)


def refuse(in_force: InForce, reason: str) -> InForce:
    """Return what is in force when the file cannot be used."""
    return replace(in_force, error=reason)
