"""What a promotion has measured, as panels ask for it, and how gains are coloured."""

from __future__ import annotations

from tools.dashboards.expressions import FLEET, last
from tools.dashboards.model import Kind, Panel, Query, Step

EFFECT = "specfleet_aggregator_promotion_effect_ratio"
IN_REPLAY = f'{FLEET},measure="tokens per verify step"'
ON_CANARY = f'{FLEET},measure="tokens per busy second"'

WORSE_OR_BETTER = (Step(None, "red"), Step(-0.005, "text"), Step(0.005, "green"))
"""Of a gain as a fraction."""


def canary_effect(title: str, description: str, *, width: int) -> Panel:
    """Return the panel with the newest candidate's gain on live engines, between its bounds."""
    return Panel(
        title,
        description,
        "percentunit",
        (
            Query(
                last(EFFECT, by="bound", where=ON_CANARY),
                "{{bound}}",
                absent="no canary has run yet",
            ),
        ),
        kind=Kind.NUMBER,
        width=width,
        decimals=1,
        steps=WORSE_OR_BETTER,
        no_value="no canary has run",
    )
