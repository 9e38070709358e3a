"""Fleet overview: is it faster, by how much, since when?"""

from __future__ import annotations

from tools.dashboards.choices import COHORTS, FLEET_NAME, NAMESPACE, STABLE_VERSIONS
from tools.dashboards.comparing import WORSE_OR_BETTER, canary_effect
from tools.dashboards.expressions import (
    COHORT,
    FLEET,
    SHOWN,
    acceptance_length,
    gain,
    mean,
    newest,
    speed,
    total,
)
from tools.dashboards.model import Dashboard, Kind, Panel, Query, Row
from tools.dashboards.overview_rows import USERS, WELL

STOCK = f'{FLEET},drafter="stock"'
ADAPTED = f'{FLEET},drafter!="stock"'

NO_COMPARISON = "no traffic on both"

ANSWER = Row(
    "Is it faster, by how much, since when?",
    (
        Panel(
            "Speed over stock",
            "By how much adapted drafters exceed the stock drafter in output tokens per second "
            "in which the engine was busy: the mean over the time shown, of moments in which both "
            "were served. It compares what engines happened to serve; the promotion beside it "
            "compared under equal conditions.",
            "percentunit",
            (Query(mean(gain(speed(where=ADAPTED), speed(where=STOCK))), ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=1,
            steps=WORSE_OR_BETTER,
            no_value=NO_COMPARISON,
        ),
        Panel(
            "Acceptance length over stock",
            "By how much adapted drafters exceed the stock drafter in tokens per verify step: the "
            "mean over the time shown, of moments in which both were served.",
            "percentunit",
            (
                Query(
                    mean(gain(acceptance_length(where=ADAPTED), acceptance_length(where=STOCK))),
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=1,
            steps=WORSE_OR_BETTER,
            no_value=NO_COMPARISON,
        ),
        canary_effect(
            "Newest canary's effect",
            "What the newest candidate gained on live engines over what it was compared with, in "
            "output tokens per busy second: the estimate, between the bounds of its confidence "
            "interval. A lower bound above zero is a proven gain.",
            width=5,
        ),
        Panel(
            "Stable version",
            "The version that passed its promotion and is served; 0 is the stock drafter.",
            "none",
            (Query(newest("specfleet_aggregator_stable_version"), ""),),
            kind=Kind.NUMBER,
            width=3,
            decimals=0,
        ),
        Panel(
            "Stable since",
            "When the stable version last changed within the time shown, or when it was first "
            "seen.",
            "dateTimeFromNow",
            (
                Query(
                    "1000 * max(max_over_time(timestamp("
                    f"specfleet_aggregator_stable_version{{{FLEET}}}"
                    f" unless specfleet_aggregator_stable_version{{{FLEET}}}"
                    f" == specfleet_aggregator_stable_version{{{FLEET}}} offset $__interval"
                    f")[{SHOWN}:$__interval]))",
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            no_value="longer than shown",
        ),
        Panel(
            "Adapted drafters' tokens",
            "Share of output tokens, over the time shown, that came while an adapted drafter "
            "proposed.",
            "percentunit",
            (
                Query(
                    total("specfleet_agent_output_tokens_total", where=ADAPTED, window=SHOWN)
                    + " / "
                    + total("specfleet_agent_output_tokens_total", window=SHOWN),
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
    ),
)

AGAINST = Row(
    "Against control and stock",
    (
        Panel(
            "Acceptance length by cohort",
            "Output tokens per verify step. Where a cohort serves the stock drafter, it is the "
            "control: the distance to it is what adapting is worth on today's traffic.",
            "suffix: tok/step",
            (Query(acceptance_length(by="cohort", where=COHORT), "{{cohort}}"),),
            decimals=2,
        ),
        Panel(
            "Acceptance length by drafter",
            "Output tokens per verify step of the stock drafter, of versions, and of engines' own "
            "local weights.",
            "suffix: tok/step",
            (Query(acceptance_length(by="drafter", where=COHORT), "{{drafter}}"),),
            decimals=2,
        ),
        Panel(
            "Gain over stock",
            "By how much adapted drafters exceed stock at each moment, where both have traffic: in "
            "tokens per verify step, and in tokens per busy second.",
            "percentunit",
            (
                Query(
                    gain(
                        acceptance_length(by="drafter", where=ADAPTED),
                        acceptance_length(where=STOCK),
                    ),
                    "{{drafter}}: acceptance length",
                ),
                Query(
                    gain(speed(by="drafter", where=ADAPTED), speed(where=STOCK)),
                    "{{drafter}}: speed",
                ),
            ),
            decimals=1,
        ),
        Panel(
            "Output of one engine by cohort",
            "Output tokens per second and engine. It follows the traffic as well: compare cohorts "
            "with each other, not with yesterday.",
            "suffix: tok/s",
            (
                Query(
                    total("specfleet_agent_output_tokens_total", by="cohort", where=COHORT)
                    + f" / count by (cohort) (specfleet_agent_connected{{{COHORT}}})",
                    "{{cohort}}",
                ),
            ),
            decimals=1,
        ),
        Panel(
            "Speed by drafter",
            "Output tokens per second in which the engine was busy: what speculation is for. It "
            "depends on how full the batch is.",
            "suffix: tok/s",
            (Query(speed(by="drafter", where=COHORT), "{{drafter}}"),),
            decimals=1,
        ),
        Panel(
            "Share of tokens by drafter",
            "Which drafters served when: a rollout is where `version` replaces `stock`.",
            "percentunit",
            (
                Query(
                    total("specfleet_agent_output_tokens_total", by="drafter", where=COHORT)
                    + " / on () group_left () ("
                    + total("specfleet_agent_output_tokens_total", where=COHORT)
                    + " > 0)",
                    "{{drafter}}",
                ),
            ),
            decimals=0,
            minimum=0,
            maximum=1,
        ),
    ),
)

_NO_RULES = "the recording rules are not installed, see metrics.rules.enabled of the chart"

WEEK = Row(
    "The last seven days",
    (
        Panel(
            "Acceptance length over the week",
            "Output tokens per verify step, from the chart's recording rules: computed from every "
            "engine's counters, a week would take Prometheus long.",
            "suffix: tok/step",
            (
                Query(
                    f"fleet_cohort:specfleet_acceptance_length:rate5m{{{COHORT}}}",
                    "{{cohort}}",
                    absent=_NO_RULES,
                ),
            ),
            width=12,
            decimals=2,
            last="7d",
            no_value="needs the recording rules",
        ),
        Panel(
            "Speed over the week",
            "Output tokens per second in which engines were busy, from the chart's recording "
            "rules.",
            "suffix: tok/s",
            (
                Query(
                    f"fleet_cohort:specfleet_tokens_per_busy_second:rate5m{{{COHORT}}}",
                    "{{cohort}}",
                    absent=_NO_RULES,
                ),
            ),
            width=12,
            decimals=1,
            last="7d",
            no_value="needs the recording rules",
        ),
    ),
)

OVERVIEW = Dashboard(
    name="overview",
    title="specfleet / Fleet overview",
    description="Whether a fleet is faster with what it has learnt, by how much, and since when.",
    variables=(NAMESPACE, FLEET_NAME, COHORTS),
    rows=(ANSWER, AGAINST, USERS, WELL, WEEK),
    marks=(STABLE_VERSIONS,),
)
