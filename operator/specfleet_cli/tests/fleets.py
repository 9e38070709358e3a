"""Builders of fleets and plans, for tests to change at one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specfleet_cli.plan import FleetPlan, Place, num_ports, plan
from specfleet_common.api.fleet import SpeculatorFleet
from specfleet_common.api.loading import parse_fleet
from specfleet_common.api.testing import manifest

PLACE = Place(python="/py", out=Path("/out"), shm_directory=Path("/dev/shm/x"), run_id="abc")


def fleet(**changes: Any) -> SpeculatorFleet:
    """Return the smallest fleet with some fields changed, as in `manifest`."""
    return parse_fleet(manifest(**changes), source="test")


def planned(**changes: Any) -> FleetPlan:
    """Return the plan of that fleet on ports from 5000."""
    wanted = fleet(**changes)
    return plan(wanted, PLACE, range(5000, 5000 + num_ports(wanted)))
