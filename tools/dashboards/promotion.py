"""Promotion: what is judged now, on what evidence, and what was decided?"""

from __future__ import annotations

from tools.dashboards.choices import COHORTS, FLEET_NAME, NAMESPACE, STABLE_VERSIONS
from tools.dashboards.comparing import EFFECT, IN_REPLAY, ON_CANARY, WORSE_OR_BETTER, canary_effect
from tools.dashboards.expressions import (
    COHORT,
    SHOWN,
    acceptance_length,
    growth,
    last,
    newest,
    or_none,
    speed,
    total,
)
from tools.dashboards.model import Dashboard, Kind, Panel, Query, Row, State, Step

_GUARDS = "specfleet_aggregator_promotion_guard_breached"

JUDGED = Row(
    "What is judged",
    (
        Panel(
            "Stable version",
            "The version that is served where a cohort serves what is stable; 0 is the stock "
            "drafter.",
            "none",
            (Query(newest("specfleet_aggregator_stable_version"), ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Effect in replay",
            "What the newest candidate gains over what it is compared with, in tokens per verify "
            "step on held-out requests: the estimate, between the bounds of its confidence "
            "interval.",
            "percentunit",
            (Query(last(EFFECT, by="bound", where=IN_REPLAY), "{{bound}}"),),
            kind=Kind.NUMBER,
            width=4,
            decimals=1,
            steps=WORSE_OR_BETTER,
            no_value="no candidate was judged",
        ),
        canary_effect(
            "Effect on the canary",
            "The same on live engines, in output tokens per busy second.",
            width=4,
        ),
        Panel(
            "Breached guards",
            "Guards of the newest promotion that do not hold. One is enough to take a candidate "
            "back.",
            "none",
            (
                Query(
                    "sum(" + newest(_GUARDS, by="guard") + ")",
                    "",
                    absent="no canary has run yet",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
            steps=(Step(None, "green"), Step(1, "red")),
            no_value="none judged",
        ),
        Panel(
            "Records",
            "Records that the open promotion rests on: walks of held-out requests, blocks and "
            "requests of the canary. 0 while none is open.",
            "short",
            (Query(newest("specfleet_aggregator_evidence_records"), ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Engines on another version",
            "Engines that were seen to run a version other than the stable one: the canary, or a "
            "rollout on its way.",
            "none",
            (
                Query(
                    f"count(specfleet_agent_served_version{{{COHORT}}}"
                    f" != on () group_left () {newest('specfleet_aggregator_stable_version')})"
                    " or vector(0)",
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
    ),
)

COURSE = Row(
    "How it goes",
    (
        Panel(
            "Phase",
            "The phase of the newest promotion: Pending waits for its turn, Replay walks held-out "
            "requests, Canary compares on live engines, Rolling goes through the fleet.",
            "none",
            (
                Query(
                    newest("specfleet_aggregator_promotion_phase", by="phase"),
                    "{{phase}}",
                ),
            ),
            kind=Kind.STATES,
            width=12,
            states=(State(0, " ", "transparent"), State(1, "now", "blue")),
        ),
        Panel(
            "Version served by engine",
            "The version that each engine was seen to run, 0 for stock; none while it runs local "
            "weights. During a canary its engines switch back and forth.",
            "none",
            (
                Query(
                    newest("specfleet_agent_served_version", by="pod", where=COHORT),
                    "{{pod}}",
                ),
            ),
            width=12,
            decimals=0,
        ),
        Panel(
            "Effect on tokens per verify step",
            "Estimate and bounds, in replay. It passes when the lower bound exceeds "
            "`promotion.minimumGain`.",
            "percentunit",
            (
                Query(
                    newest(EFFECT, by="bound", where=IN_REPLAY),
                    "{{bound}}",
                ),
            ),
            width=12,
            decimals=2,
        ),
        Panel(
            "Effect on tokens per busy second",
            "Estimate and bounds, on live engines. The rollout begins when harm is excluded.",
            "percentunit",
            (
                Query(
                    newest(EFFECT, by="bound", where=ON_CANARY),
                    "{{bound}}",
                    absent="no canary has run yet, or the newest candidate is still in replay",
                ),
            ),
            width=12,
            decimals=2,
        ),
    ),
)

EVIDENCE = Row(
    "Evidence and guards",
    (
        Panel(
            "Guards",
            "Whether each guard of the newest promotion holds.",
            "none",
            (
                Query(
                    newest(_GUARDS, by="guard"),
                    "{{guard}}",
                    absent="no canary has run yet",
                ),
            ),
            kind=Kind.STATES,
            states=(State(0, "holds", "green"), State(1, "breached", "red")),
        ),
        Panel(
            "Records of the open promotion",
            "How the evidence grows. A curve that stays flat means that held-out requests or "
            "traffic on the canary's engines are missing.",
            "short",
            (Query(newest("specfleet_aggregator_evidence_records"), "records"),),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Records by what became of them",
            "Records that agents handed in within five minutes. `unwanted` ones are of a promotion "
            "that is over.",
            "short",
            (
                Query(
                    or_none(
                        growth(
                            "specfleet_agent_evidence_total",
                            by="kind, result",
                            where=COHORT,
                            window="5m",
                        ),
                        "kind",
                    ),
                    "{{kind}} {{result}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
    ),
)

ARMS = Row(
    "The arms on live engines",
    (
        Panel(
            "Acceptance length by drafter",
            "Output tokens per verify step of stock, versions and local weights.",
            "suffix: tok/step",
            (Query(acceptance_length(by="drafter", where=COHORT), "{{drafter}}"),),
            decimals=2,
        ),
        Panel(
            "Speed by drafter",
            "Output tokens per second in which the engine was busy.",
            "suffix: tok/s",
            (Query(speed(by="drafter", where=COHORT), "{{drafter}}"),),
            decimals=1,
        ),
        Panel(
            "Blocks and requests",
            "Blocks of comparisons that were recorded per minute, and requests that ended in them; "
            "`unknown` are requests of which nothing tells which drafters proposed.",
            "suffix: /min",
            (
                Query(f"60 * {total('specfleet_agent_blocks_total', where=COHORT)}", "blocks"),
                Query(
                    or_none(
                        "60 * "
                        + total("specfleet_agent_requests_total", by="result", where=COHORT),
                        "result",
                    ),
                    "requests {{result}}",
                ),
            ),
            decimals=1,
            minimum=0,
        ),
    ),
)

DECIDED = Row(
    "What was decided",
    (
        Panel(
            "Decisions within the time shown",
            "How often each outcome came, and each phase was entered. `stable_withdrawn` is a "
            "stable version that turned out harmful.",
            "none",
            (
                Query(
                    growth("specfleet_aggregator_decisions_total", by="decision", window=SHOWN),
                    "{{decision}}",
                ),
            ),
            kind=Kind.NUMBER,
            width=24,
            decimals=0,
        ),
    ),
)

PROMOTION = Dashboard(
    name="promotion",
    title="specfleet / Promotion",
    description="Which candidate is judged, what it gains within which interval, and what was "
    "decided.",
    variables=(NAMESPACE, FLEET_NAME, COHORTS),
    rows=(JUDGED, COURSE, EVIDENCE, ARMS, DECIDED),
    marks=(STABLE_VERSIONS,),
)
