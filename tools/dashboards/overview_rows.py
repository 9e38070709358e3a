"""Rows of the overview that are about serving: what users notice, and whether all is well."""

from __future__ import annotations

from tools.dashboards.expressions import COHORT, FLEET, acceptance_length, newest, quantile, total
from tools.dashboards.model import Kind, Panel, Query, Row, State

_TPOT = "vllm:request_time_per_output_token_seconds"
_TTFT = "vllm:time_to_first_token_seconds"

USERS = Row(
    "What users notice",
    (
        Panel(
            "Time per output token",
            "As vLLM measures it for each request: the median, and what 1 of 20 requests exceeds.",
            "s",
            (
                Query(quantile(0.5, _TPOT, by="cohort", where=COHORT), "{{cohort}} median"),
                Query(quantile(0.95, _TPOT, by="cohort", where=COHORT), "{{cohort}} 95 %"),
            ),
            width=6,
        ),
        Panel(
            "Time to first token",
            "As vLLM measures it for each request: the median, and what 1 of 20 requests exceeds.",
            "s",
            (
                Query(quantile(0.5, _TTFT, by="cohort", where=COHORT), "{{cohort}} median"),
                Query(quantile(0.95, _TTFT, by="cohort", where=COHORT), "{{cohort}} 95 %"),
            ),
            width=6,
        ),
        Panel(
            "Requests",
            "Requests in the engines' batches, and those that wait for a place in one.",
            "short",
            (
                Query(f"sum(vllm:num_requests_running{{{COHORT}}})", "running"),
                Query(f"sum(vllm:num_requests_waiting{{{COHORT}}})", "waiting"),
            ),
            width=6,
            minimum=0,
        ),
        Panel(
            "Finished requests",
            "Requests that ended, by vLLM's reason: `error` should stay at zero, `abort` are "
            "clients that went away.",
            "reqps",
            (
                Query(
                    total("vllm:request_success_total", by="finished_reason", where=COHORT),
                    "{{finished_reason}}",
                ),
            ),
            width=6,
            minimum=0,
        ),
    ),
)

CONDITION_STATES = (State(0, "not true", "red"), State(1, "true", "green"))

WELL = Row(
    "Is it well?",
    (
        Panel(
            "Conditions",
            "The conditions of the fleet's status, as the operator tells them; one that does not "
            "apply is absent. `kubectl describe speculatorfleet` says why one is not true.",
            "none",
            (
                Query(
                    "max by (condition) (specfleet_operator_fleet_condition"
                    f'{{{FLEET},status="True"}})',
                    "{{condition}}",
                    absent="the fleet runs without an operator, by `specfleet run`",
                ),
            ),
            kind=Kind.STATES,
            states=CONDITION_STATES,
        ),
        Panel(
            "Engines",
            "Engines with an agent, those whose agent has a lease from the aggregator, those "
            "whose drafter can be replaced, and those that train.",
            "short",
            (
                Query(f"count(specfleet_agent_connected{{{COHORT}}})", "all"),
                Query(f"sum(specfleet_agent_lease_valid{{{COHORT}}})", "with a lease"),
                Query(f"sum(specfleet_agent_engine_adapting{{{COHORT}}})", "adapting"),
                Query(f"sum(specfleet_agent_trainer_running{{{COHORT}}})", "training"),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Acceptance length and break-even",
            "Below the break-even length of its batch sizes, speculation costs more than it "
            "gains: the engine would be faster without it.",
            "suffix: tok/step",
            (
                Query(acceptance_length(where=COHORT), "acceptance length"),
                Query(
                    newest("specfleet_agent_break_even_acceptance_length", by="band", where=COHORT),
                    "break-even, band {{band}}",
                    absent="no engine has measured yet what drafting and verifying take",
                ),
            ),
            decimals=2,
        ),
    ),
)
