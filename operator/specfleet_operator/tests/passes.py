"""What an operator knows that has just started: for tests that make passes one by one."""

from __future__ import annotations

from collections.abc import Callable

from specfleet_operator.aggregators import Aggregators
from specfleet_operator.api import Cluster, SigningKeys
from specfleet_operator.certificates import new_key
from specfleet_operator.events import Events
from specfleet_operator.observed import Images, OperatorFacts
from specfleet_operator.pacing import Pace
from specfleet_operator.reconciling import World
from specfleet_operator.store import Store
from specfleet_operator.tokens import Keys, Tokens


def new_world(cluster: Cluster, clock: Callable[[], float]) -> World:
    """Return a world of which nothing is known yet; its aggregators cannot be reached."""
    tokens = Tokens(cluster, namespace="op", service_account="op", clock=clock)
    keys = Keys(cluster, lambda: None)
    keys.current = SigningKeys("https://issuer", '{"keys": []}')
    return World(
        cluster=cluster,
        fleets=Store(),
        children=Store(),
        aggregators=Aggregators(tokens, mark=lambda _: None, clock=clock, wall_clock=clock),
        keys=keys,
        events=Events(cluster, instance="op", clock=clock, wall_clock=clock),
        facts=lambda: OperatorFacts(
            version="1",
            images=Images(agent="agent:1", aggregator="aggregator:1", default_engine=""),
            namespace="op",
            service_account="op",
        ),
        wall_clock=clock,
        make_key=new_key,
        pace=Pace(clock),
    )
