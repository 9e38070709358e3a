"""What viewers choose on every dashboard, and the lines that mark changes."""

from __future__ import annotations

from tools.dashboards.expressions import FLEET
from tools.dashboards.model import Marks, Variable

NAMESPACE = Variable("namespace", "specfleet_agent_connected")
FLEET_NAME = Variable("fleet", 'specfleet_agent_connected{namespace=~"$namespace"}')
COHORTS = Variable("cohort", f"specfleet_agent_connected{{{FLEET}}}", several=True)
PODS = Variable("pod", f'specfleet_agent_connected{{{FLEET},cohort=~"$cohort"}}', several=True)

# The window holds two scrapes of any usual interval, or a change could fall between two windows.
STABLE_VERSIONS = Marks(
    "New stable version",
    f"changes(specfleet_aggregator_stable_version{{{FLEET}}}[2m]) > 0",
    "purple",
)
