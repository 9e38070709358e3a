"""What a promotion has measured, as panels ask for it, and how gains are coloured."""

from __future__ import annotations

from tools.dashboards.expressions import FLEET
from tools.dashboards.model import Step

EFFECT = "specfleet_aggregator_promotion_effect_ratio"
IN_REPLAY = f'{FLEET},measure="tokens per verify step"'
ON_CANARY = f'{FLEET},measure="tokens per busy second"'

WORSE_OR_BETTER = (Step(None, "red"), Step(-0.005, "text"), Step(0.005, "green"))
"""Of a gain as a fraction."""
