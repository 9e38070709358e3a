"""Learning: do rounds close, does the loss fall, what does it cost in bytes?"""

from __future__ import annotations

from tools.dashboards.choices import COHORTS, FLEET_NAME, NAMESPACE, STABLE_VERSIONS
from tools.dashboards.expressions import COHORT, growth, newest, or_none, quantile, total
from tools.dashboards.model import Dashboard, Kind, Panel, Query, Row, Step

_AGGREGATOR = "specfleet_aggregator"
_AGENT = "specfleet_agent"

NOW = Row(
    "Now",
    (
        Panel(
            "Newest version",
            "The newest global version. It is what trainers start from; engines serve it only "
            "once its promotion has passed.",
            "none",
            (Query(newest(f"{_AGGREGATOR}_version"), ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Age of the newest version",
            "Time since the newest version was made. It should stay below a few times the duration "
            "of a round.",
            "s",
            (
                Query(
                    f"time() - {newest(f'{_AGGREGATOR}_version_timestamp_seconds')}",
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
        ),
        Panel(
            "Open round for",
            "Time since the open round was opened.",
            "s",
            (Query(f"time() - {newest(f'{_AGGREGATOR}_round_opened_timestamp_seconds')}", ""),),
            kind=Kind.NUMBER,
            width=4,
        ),
        Panel(
            "Missing for the quorum",
            "Deltas that the open round still waits for. It stays above zero while trainers "
            "collect and train; see the curves for how long.",
            "none",
            (
                Query(
                    f"clamp_min({newest(f'{_AGGREGATOR}_quorum')}"
                    f" - {newest(f'{_AGGREGATOR}_round_deltas')}, 0)",
                    "",
                ),
            ),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Trained positions",
            "Positions that all trainers together train per second.",
            "suffix: pos/s",
            (Query(f"sum({_AGENT}_trainer_positions_per_second{{{COHORT}}})", ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
        ),
        Panel(
            "Parked trainers",
            "Trainers that failed so often that they are tried only every five minutes.",
            "none",
            (Query(f"sum({_AGENT}_trainer_parked{{{COHORT}}})", ""),),
            kind=Kind.NUMBER,
            width=4,
            decimals=0,
            steps=(Step(None, "green"), Step(1, "red")),
        ),
    ),
)

ROUNDS = Row(
    "Rounds",
    (
        Panel(
            "Versions",
            "The newest version, the one that is promoted, and those that trainers hold on "
            "average. A trainer that stays behind the newest trains from stale weights.",
            "none",
            (
                Query(newest(f"{_AGGREGATOR}_version"), "newest"),
                Query(newest(f"{_AGGREGATOR}_stable_version"), "stable"),
                Query(f"min({_AGENT}_version{{{COHORT}}})", "held by the last trainer"),
            ),
            decimals=0,
        ),
        Panel(
            "Quorum",
            "Deltas of the open round against the number that closes it, and the workers that "
            "could send one. A quorum above the number of training workers is never reached.",
            "short",
            (
                Query(newest(f"{_AGGREGATOR}_round_deltas"), "deltas so far"),
                Query(newest(f"{_AGGREGATOR}_quorum"), "quorum"),
                Query(newest(f"{_AGGREGATOR}_training_workers"), "training workers"),
                Query(newest(f"{_AGGREGATOR}_live_workers"), "live workers"),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Duration of rounds",
            "From a round's opening to its version, and the part after its closing: combining the "
            "deltas and writing to the store.",
            "s",
            (
                Query(quantile(0.5, f"{_AGGREGATOR}_round_duration_seconds"), "round, median"),
                Query(quantile(0.95, f"{_AGGREGATOR}_round_duration_seconds"), "round, 95 %"),
                Query(
                    quantile(0.5, f"{_AGGREGATOR}_outer_step_duration_seconds"),
                    "closing, median",
                ),
            ),
            minimum=0,
        ),
        Panel(
            "Deltas by outcome",
            "Deltas offered within five minutes. `stale` came after their round had closed, "
            "`foreign` are of another lineage, `refused` are broken.",
            "short",
            (
                Query(
                    growth(f"{_AGGREGATOR}_deltas_total", by="outcome", window="5m"), "{{outcome}}"
                ),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Deltas without effect, by worker",
            "Workers whose deltas were refused for their content, left out because they were far "
            "longer than the others, came after their round or are of another lineage. One name "
            "alone points to one machine.",
            "short",
            (
                Query(
                    or_none(
                        growth(f"{_AGGREGATOR}_refused_deltas_total", by="worker", window="5m"),
                        "worker",
                    ),
                    "refused: {{worker}}",
                ),
                Query(
                    or_none(
                        growth(f"{_AGGREGATOR}_left_out_deltas_total", by="worker", window="5m"),
                        "worker",
                    ),
                    "left out: {{worker}}",
                ),
                Query(
                    or_none(
                        growth(f"{_AGGREGATOR}_misplaced_deltas_total", by="worker", window="5m"),
                        "worker",
                    ),
                    "stale or foreign: {{worker}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Staleness",
            "Versions by which each trainer is behind the newest. More than one for long means "
            "that it does not fetch them.",
            "short",
            (
                Query(
                    f"{newest(f'{_AGGREGATOR}_version')} - on () group_right ()"
                    f" {newest(f'{_AGENT}_version', by='pod', where=COHORT)}",
                    "{{pod}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
    ),
)

TRAINING = Row(
    "Training",
    (
        Panel(
            "Loss by depth",
            "Cross-entropy of the newest steps, by how many tokens ahead is drafted, as the mean "
            "of all trainers. It falls as the drafter learns the traffic, and rises when that "
            "changes.",
            "suffix: nats",
            (Query(f"avg by (depth) ({_AGENT}_trainer_loss{{{COHORT}}})", "depth {{depth}}"),),
            decimals=2,
        ),
        Panel(
            "Trained positions by engine",
            "Positions trained per second. It is bounded by the trainer's processors, and below "
            "that by the traffic.",
            "suffix: pos/s",
            (Query(total(f"{_AGENT}_trainer_positions_total", by="pod", where=COHORT), "{{pod}}"),),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Local steps",
            "Training steps of each trainer in the open round. A round's delta is sent when they "
            "reach `aggregation.localSteps`.",
            "short",
            (Query(newest(f"{_AGENT}_trainer_local_steps", by="pod", where=COHORT), "{{pod}}"),),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Captured rows",
            "Rows of hidden states that engines captured per second: what trainers learn from.",
            "suffix: rows/s",
            (Query(total(f"{_AGENT}_captured_rows_total", by="pod", where=COHORT), "{{pod}}"),),
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Dropped records",
            "Capture records dropped because the trainer had not yet read older ones. Serving "
            "never waits for it; a steady stream means that the trainer is too slow for its "
            "traffic, which is no harm.",
            "suffix: rec/s",
            (Query(total(f"{_AGENT}_dropped_records_total", by="pod", where=COHORT), "{{pod}}"),),
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Memory of trainers",
            "What each trainer holds by itself. The agent ends it before the kernel would end the "
            "container.",
            "bytes",
            (Query(newest(f"{_AGENT}_trainer_memory_bytes", by="pod", where=COHORT), "{{pod}}"),),
            minimum=0,
        ),
    ),
)

TRANSFER = Row(
    "Bytes",
    (
        Panel(
            "Weights through the aggregator",
            "Deltas received and versions sent, per second.",
            "Bps",
            (Query(total(f"{_AGGREGATOR}_weights_bytes_total", by="direction"), "{{direction}}"),),
            width=12,
            minimum=0,
        ),
        Panel(
            "Bytes of one round",
            "Bytes received and sent within the last hour, for each version made in it.",
            "bytes",
            (
                Query(
                    growth(f"{_AGGREGATOR}_weights_bytes_total", by="direction", window="1h")
                    + " / on () group_left () ("
                    + growth(f"{_AGGREGATOR}_round_duration_seconds_count", window="1h")
                    + " > 0)",
                    "{{direction}}",
                ),
            ),
            width=12,
            minimum=0,
        ),
    ),
)

LEARNING = Dashboard(
    name="learning",
    title="specfleet / Learning",
    description="Whether rounds close, what trainers make of the traffic, and what moves between "
    "them and the aggregator.",
    variables=(NAMESPACE, FLEET_NAME, COHORTS),
    rows=(NOW, ROUNDS, TRAINING, TRANSFER),
    marks=(STABLE_VERSIONS,),
)
