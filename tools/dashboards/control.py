"""Operator and aggregator: does what keeps fleets going work?"""

from __future__ import annotations

from tools.dashboards.choices import FLEET_NAME, NAMESPACE
from tools.dashboards.control_aggregator import AGGREGATOR
from tools.dashboards.control_operator import OPERATOR
from tools.dashboards.model import Dashboard

CONTROL = Dashboard(
    name="control",
    title="specfleet / Operator and aggregator",
    description="Whether the operator reconciles, and whether a fleet's aggregator can do its "
    "work.",
    variables=(NAMESPACE, FLEET_NAME),
    rows=(OPERATOR, AGGREGATOR),
)
