"""The operator's row of the dashboard of what keeps fleets going."""

from __future__ import annotations

from tools.dashboards.expressions import FLEET, growth, or_none, quantile, total
from tools.dashboards.model import Kind, Panel, Query, Row, State, Step

NO_OPERATOR = "the fleet runs without an operator, by `specfleet run`"

_OPERATOR = "specfleet_operator"
_EVERYTHING = ""
"""The operator's own metrics are of no fleet."""

OPERATOR = Row(
    "Operator (of all fleets)",
    (
        Panel(
            "Leaders",
            "Operators that lead. It should be exactly one: with none, nothing is reconciled.",
            "none",
            (Query(f"sum({_OPERATOR}_leader)", "", absent=NO_OPERATOR),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
            steps=(Step(None, "red"), Step(1, "green"), Step(2, "red")),
        ),
        Panel(
            "Fleets",
            "Fleets that the operator knows.",
            "none",
            (Query(f"max({_OPERATOR}_fleets)", "", absent=NO_OPERATOR),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Fleets that are not ready",
            "Fleets whose condition Ready is not True.",
            "none",
            (
                Query(
                    f"count(max by (namespace, fleet) ({_OPERATOR}_fleet_condition"
                    '{condition="Ready",status="True"}) == 0)'
                    f" or (0 * sum({_OPERATOR}_leader))",
                    "",
                    absent=NO_OPERATOR,
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
            steps=(Step(None, "green"), Step(1, "red")),
        ),
        Panel(
            "Aggregators out of reach",
            "Aggregators that the operator watches and cannot reach.",
            "none",
            (Query(f'sum({_OPERATOR}_aggregators{{reachable="no"}})', "", absent=NO_OPERATOR),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
            steps=(Step(None, "green"), Step(1, "red")),
        ),
        Panel(
            "Oldest stream",
            "Time since the quietest stream of changes from the API server was last heard of; "
            "bookmarks keep it below two minutes.",
            "s",
            (Query(f"max({_OPERATOR}_stream_age_seconds)", "", absent=NO_OPERATOR),),
            kind=Kind.NUMBER,
            width=4,
            steps=(Step(None, "green"), Step(120, "red")),
        ),
        Panel(
            "Next certificate ends in",
            "Time until the first certificate of an aggregator ends. The operator renews it 30 "
            "days before.",
            "s",
            (
                Query(
                    f"min({_OPERATOR}_certificate_expiry_timestamp_seconds) - time()",
                    "",
                    absent=NO_OPERATOR,
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            steps=(Step(None, "red"), Step(7 * 86400, "orange"), Step(14 * 86400, "green")),
        ),
        Panel(
            "Passes",
            "Time of one pass over a fleet: look, decide, act.",
            "s",
            (
                Query(
                    quantile(0.5, f"{_OPERATOR}_reconcile_duration_seconds", where=_EVERYTHING),
                    "median",
                    absent=NO_OPERATOR,
                ),
                Query(
                    quantile(0.95, f"{_OPERATOR}_reconcile_duration_seconds", where=_EVERYTHING),
                    "95 %",
                    absent=NO_OPERATOR,
                ),
            ),
            width=6,
            minimum=0,
        ),
        Panel(
            "Failed passes",
            "Passes that failed within five minutes and were tried again, by reason.",
            "short",
            (
                Query(
                    or_none(
                        growth(
                            f"{_OPERATOR}_reconcile_failures_total",
                            by="reason",
                            where=_EVERYTHING,
                            window="5m",
                        ),
                        "reason",
                    ),
                    "{{reason}}",
                ),
            ),
            width=6,
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Writes to the API server",
            "Requests per minute that change something, by kind of object. At rest it is the Lease "
            "alone.",
            "suffix: /min",
            (
                Query(
                    f"60 * {total(f'{_OPERATOR}_api_writes_total', by='kind', where=_EVERYTHING)}",
                    "{{kind}}",
                    absent=NO_OPERATOR,
                ),
            ),
            width=6,
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Fleets that wait to be looked at",
            "Fleets in which something changed that the operator has not looked at yet.",
            "short",
            (Query(f"max({_OPERATOR}_queue_depth)", "waiting", absent=NO_OPERATOR),),
            width=6,
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Conditions of the fleet",
            "The conditions in the status of the chosen fleet.",
            "none",
            (
                Query(
                    f'max by (condition) ({_OPERATOR}_fleet_condition{{{FLEET},status="True"}})',
                    "{{condition}}",
                    absent=NO_OPERATOR,
                ),
            ),
            kind=Kind.STATES,
            width=12,
            states=(State(0, "not true", "red"), State(1, "true", "green")),
        ),
        Panel(
            "Streams",
            "Time since each stream of changes was last heard of.",
            "s",
            (
                Query(
                    f"max by (stream) ({_OPERATOR}_stream_age_seconds)",
                    "{{stream}}",
                    absent=NO_OPERATOR,
                ),
            ),
            width=12,
            minimum=0,
        ),
    ),
)
