"""The aggregator's row of the dashboard of what keeps fleets going."""

from __future__ import annotations

from tools.dashboards.control_operator import NO_OPERATOR
from tools.dashboards.expressions import FLEET, growth, newest, or_none, total
from tools.dashboards.model import Kind, Panel, Query, Row, State

_AGGREGATOR = "specfleet_aggregator"

AGGREGATOR = Row(
    "Aggregator (of the chosen fleet)",
    (
        Panel(
            "Store",
            "Whether the store did what the aggregator last asked of it. While it does not, rounds "
            "wait; serving goes on.",
            "none",
            (Query(newest(f"{_AGGREGATOR}_store_reachable"), "reachable"),),
            kind=Kind.STATES,
            states=(State(0, "no", "red"), State(1, "yes", "green")),
        ),
        Panel(
            "Failures of the store",
            "Times within five minutes that the store failed to take or to give something.",
            "short",
            (Query(growth(f"{_AGGREGATOR}_store_failures_total", window="5m"), "failures"),),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Workers",
            "Workers with a lease, and those of them that train.",
            "short",
            (
                Query(newest(f"{_AGGREGATOR}_live_workers"), "live"),
                Query(newest(f"{_AGGREGATOR}_training_workers"), "training"),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Settings",
            "Generation of the settings in force. Newer ones that are wrong are refused, and the "
            "old ones stay.",
            "none",
            (
                Query(newest(f"{_AGGREGATOR}_settings_generation"), "generation"),
                Query(newest(f"{_AGGREGATOR}_settings_refused"), "newest are refused"),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Refused calls",
            "Calls within five minutes that were refused because of who made them, by reason. "
            "`expired` and `key` point to clocks and to renewed keys.",
            "short",
            (
                Query(
                    or_none(
                        growth(f"{_AGGREGATOR}_refused_calls_total", by="reason", window="5m"),
                        "reason",
                    ),
                    "{{reason}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Certificate ends in",
            "Time until the certificate ends that the aggregator shows its callers.",
            "s",
            (
                Query(
                    f"{newest(f'{_AGGREGATOR}_certificate_expiry_timestamp_seconds')} - time()",
                    "certificate",
                    absent="the aggregator has no TLS, as in `specfleet run`",
                ),
            ),
        ),
        Panel(
            "Memory",
            "Resident memory of the aggregator and of the operators.",
            "bytes",
            (
                Query(
                    newest(
                        "process_resident_memory_bytes", where=f'{FLEET},container="aggregator"'
                    ),
                    "aggregator",
                ),
                Query(
                    "max by (pod) (process_resident_memory_bytes and on (pod, namespace, instance)"
                    " specfleet_operator_leader)",
                    "operator {{pod}}",
                    absent=NO_OPERATOR,
                ),
            ),
            minimum=0,
        ),
        Panel(
            "Processor time",
            "Seconds of processor time per second.",
            "short",
            (
                Query(
                    total("process_cpu_seconds_total", where=f'{FLEET},container="aggregator"'),
                    "aggregator",
                ),
            ),
            decimals=2,
            minimum=0,
        ),
        Panel(
            "Lost leases",
            "Engines whose agent has no lease from the aggregator.",
            "short",
            (
                Query(
                    f"count(specfleet_agent_lease_valid{{{FLEET}}})"
                    f" - sum(specfleet_agent_lease_valid{{{FLEET}}})",
                    "without a lease",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
    ),
)
