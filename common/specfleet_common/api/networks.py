"""The part of a SpeculatorFleet that says who may talk with its pods."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from specfleet_common.api.references import JsonObject
from specfleet_common.api.resource import Resource

Peers = Annotated[tuple[JsonObject, ...], Field(max_length=32)]


class NetworkPolicy(Resource):
    """Who may talk with the fleet's pods, besides the fleet itself and the operator."""

    ingress_from: Peers | None = Field(
        default=None,
        description="Who may send requests to the engines, as peers of a NetworkPolicy; everyone "
        "when absent, nobody when empty.",
    )
    egress_to: Peers | None = Field(
        default=None,
        description="Where engines and aggregator may connect to besides each other and DNS, as "
        "peers of a NetworkPolicy; the store has to be among them, and the hub for engines that "
        "download the model. When absent, engines connect to nothing more (to port 443 when they "
        "download the model), and the aggregator to everything, as a policy knows no host names.",
    )
