"""Engine: one pod after the other, its drafter, its capture, its trainer."""

from __future__ import annotations

from tools.dashboards.choices import COHORTS, FLEET_NAME, NAMESPACE, PODS, STABLE_VERSIONS
from tools.dashboards.engine_rows import CONTACT, SWAPS, TRAINER, UP
from tools.dashboards.expressions import (
    POD,
    acceptance_length,
    newest,
    quantile,
    ratio,
    total,
)
from tools.dashboards.model import Dashboard, Kind, Panel, Query, Row

_AGENT = "specfleet_agent"
_TPOT = "vllm:request_time_per_output_token_seconds"

DRAFTER = Row(
    "Drafter",
    (
        Panel(
            "Acceptance by position",
            "Share of drafted tokens that the target confirmed, by their position in the draft. "
            "Later positions are reached only when all earlier ones were confirmed.",
            "percentunit",
            (
                Query(
                    ratio(
                        f"{_AGENT}_accepted_tokens_total",
                        f"{_AGENT}_drafted_tokens_total",
                        by="pod, position",
                        where=POD,
                    ),
                    "{{pod}} position {{position}}",
                ),
            ),
            decimals=0,
            minimum=0,
            maximum=1,
        ),
        Panel(
            "Acceptance length",
            "Output tokens per verify step, by the drafter that proposed.",
            "suffix: tok/step",
            (Query(acceptance_length(by="pod, drafter", where=POD), "{{pod}} {{drafter}}"),),
            decimals=2,
        ),
        Panel(
            "Break-even acceptance length",
            "The acceptance length from which on speculation is faster than none, by batch band: "
            "band b holds batches of 2^(b-1) to 2^b - 1 requests.",
            "suffix: tok/step",
            (
                Query(
                    newest(f"{_AGENT}_break_even_acceptance_length", by="pod, band", where=POD),
                    "{{pod}} band {{band}}",
                    absent="the engine has not measured yet what drafting and verifying take",
                ),
            ),
            decimals=2,
        ),
        Panel(
            "Drafted and accepted tokens",
            "Tokens per second. The distance between the two is work that verifying threw away.",
            "suffix: tok/s",
            (
                Query(
                    total(f"{_AGENT}_drafted_tokens_total", by="pod", where=POD), "{{pod}} drafted"
                ),
                Query(
                    total(f"{_AGENT}_accepted_tokens_total", by="pod", where=POD),
                    "{{pod}} accepted",
                ),
            ),
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Served version",
            "The version that the engine was seen to run, by the digest of its live weights; 0 is "
            "stock. None while it runs local weights.",
            "none",
            (Query(newest(f"{_AGENT}_served_version", by="pod", where=POD), "{{pod}}"),),
            decimals=0,
        ),
        Panel(
            "Takes weights",
            "Whether the engine's drafter can be replaced. An engine that cannot serves on with "
            "the drafter it has.",
            "none",
            (Query(newest(f"{_AGENT}_engine_adapting", by="pod", where=POD), "{{pod}}"),),
            kind=Kind.STATES,
            states=UP,
        ),
    ),
)

SERVING = Row(
    "Serving",
    (
        Panel(
            "Output",
            "Tokens per second, by the drafter that proposed.",
            "suffix: tok/s",
            (
                Query(
                    total(f"{_AGENT}_output_tokens_total", by="pod, drafter", where=POD),
                    "{{pod}} {{drafter}}",
                ),
            ),
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Busy",
            "Share of time in which the engine was in a step, by the drafter that proposed.",
            "percentunit",
            (
                Query(
                    total(f"{_AGENT}_busy_seconds_total", by="pod, drafter", where=POD),
                    "{{pod}} {{drafter}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Time per output token",
            "As vLLM measures it for each request: the median, and what 1 of 20 requests exceeds.",
            "s",
            (
                Query(quantile(0.5, _TPOT, by="pod", where=POD), "{{pod}} median"),
                Query(quantile(0.95, _TPOT, by="pod", where=POD), "{{pod}} 95 %"),
            ),
        ),
        Panel(
            "Requests",
            "Requests in the engine's batch, and those that wait for a place in it.",
            "short",
            (
                Query(f"sum by (pod) (vllm:num_requests_running{{{POD}}})", "{{pod}} running"),
                Query(f"sum by (pod) (vllm:num_requests_waiting{{{POD}}})", "{{pod}} waiting"),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Time to first token",
            "As vLLM measures it for each request: the median.",
            "s",
            (
                Query(
                    quantile(0.5, "vllm:time_to_first_token_seconds", by="pod", where=POD),
                    "{{pod}}",
                ),
            ),
        ),
        Panel(
            "Errors",
            "Requests per second that ended with an error or were aborted by their client.",
            "reqps",
            (
                Query(
                    total(
                        "vllm:request_success_total",
                        by="pod, finished_reason",
                        where=f'{POD},finished_reason=~"error|abort"',
                    ),
                    "{{pod}} {{finished_reason}}",
                ),
            ),
            minimum=0,
        ),
    ),
)

ENGINE = Dashboard(
    name="engine",
    title="specfleet / Engine",
    description="What single engines do: how their drafts are taken, what they serve, and how "
    "their trainers are.",
    variables=(NAMESPACE, FLEET_NAME, COHORTS, PODS),
    rows=(DRAFTER, SERVING, SWAPS, TRAINER, CONTACT),
    marks=(STABLE_VERSIONS,),
)
