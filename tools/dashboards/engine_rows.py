"""Rows of the engine's dashboard that are about its sidecar: swaps, capture, trainer, contact."""

from __future__ import annotations

from tools.dashboards.expressions import POD, growth, newest, or_none, total
from tools.dashboards.model import Kind, Panel, Query, Row, State

_AGENT = "specfleet_agent"
UP = (State(0, "no", "red"), State(1, "yes", "green"))

SWAPS = Row(
    "Swaps",
    (
        Panel(
            "Swaps",
            "Exchanges of the drafter within five minutes.",
            "short",
            (Query(growth(f"{_AGENT}_swaps_total", by="pod", where=POD, window="5m"), "{{pod}}"),),
            width=6,
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Apply time",
            "For how long the newest exchange kept the engine from its next step.",
            "s",
            (
                Query(
                    newest(f"{_AGENT}_swap_apply_seconds", by="pod", where=POD),
                    "{{pod}}",
                    absent="the engine's drafter was not exchanged since its start",
                ),
            ),
            width=6,
            minimum=0,
        ),
        Panel(
            "Weights handed over",
            "Weights handed to the engine within five minutes, by what they are.",
            "short",
            (
                Query(
                    or_none(
                        growth(
                            f"{_AGENT}_bank_publications_total",
                            by="pod, label",
                            where=POD,
                            window="5m",
                        ),
                        "pod",
                    ),
                    "{{pod}} {{label}}",
                ),
            ),
            width=6,
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Refused weights and mismatches",
            "Weights that the engine refused, and live drafters that turned out not to be what was "
            "put there. Both should stay at zero.",
            "short",
            (
                Query(
                    or_none(
                        growth(
                            f"{_AGENT}_bank_refusals_total",
                            by="pod, reason",
                            where=POD,
                            window="5m",
                        ),
                        "pod",
                    ),
                    "refused: {{pod}} {{reason}}",
                ),
                Query(
                    growth(f"{_AGENT}_digest_mismatches_total", by="pod", where=POD, window="5m"),
                    "mismatch: {{pod}}",
                ),
            ),
            width=6,
            decimals=0,
            minimum=0,
        ),
    ),
)

TRAINER = Row(
    "Capture and trainer",
    (
        Panel(
            "Capture",
            "Rows captured per second, and records dropped because the trainer had not read older "
            "ones.",
            "suffix: /s",
            (
                Query(total(f"{_AGENT}_captured_rows_total", by="pod", where=POD), "{{pod}} rows"),
                Query(
                    total(f"{_AGENT}_dropped_records_total", by="pod", where=POD),
                    "{{pod}} dropped records",
                ),
            ),
            decimals=1,
            minimum=0,
        ),
        Panel(
            "Trainer runs",
            "Whether the trainer process lives. Cohorts that do not train have none.",
            "none",
            (Query(newest(f"{_AGENT}_trainer_running", by="pod", where=POD), "{{pod}}"),),
            kind=Kind.STATES,
            states=(State(0, "no", "text"), State(1, "yes", "green")),
        ),
        Panel(
            "Trainer restarts",
            "Restarts within five minutes, by cause. `memory` means that the agent ended it before "
            "the kernel would.",
            "short",
            (
                Query(
                    growth(
                        f"{_AGENT}_trainer_restarts_total",
                        by="pod, cause",
                        where=POD,
                        window="5m",
                    ),
                    "{{pod}} {{cause}}",
                ),
            ),
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Loss",
            "Cross-entropy of the newest step, by how many tokens ahead is drafted.",
            "suffix: nats",
            (
                Query(
                    newest(f"{_AGENT}_trainer_loss", by="pod, depth", where=POD),
                    "{{pod}} depth {{depth}}",
                ),
            ),
            decimals=2,
        ),
        Panel(
            "Training steps",
            "Steps per second, and positions in hundreds per second.",
            "suffix: /s",
            (
                Query(total(f"{_AGENT}_trainer_steps_total", by="pod", where=POD), "{{pod}} steps"),
                Query(
                    f"{total(f'{_AGENT}_trainer_positions_total', by='pod', where=POD)} / 100",
                    "{{pod}} positions / 100",
                ),
            ),
            decimals=2,
            minimum=0,
        ),
        Panel(
            "Memory",
            "What the trainer holds by itself, and the resident memory of the agent.",
            "bytes",
            (
                Query(
                    newest(f"{_AGENT}_trainer_memory_bytes", by="pod", where=POD), "{{pod}} trainer"
                ),
                Query(
                    newest(
                        "process_resident_memory_bytes", by="pod", where=f'{POD},container="agent"'
                    ),
                    "{{pod}} agent",
                ),
            ),
            minimum=0,
        ),
    ),
)

CONTACT = Row(
    "Agent and aggregator",
    (
        Panel(
            "Lease",
            "Whether the agent has a lease from the aggregator. Without one it serves no "
            "candidate, and goes back to the stable version it knows.",
            "none",
            (Query(newest(f"{_AGENT}_lease_valid", by="pod", where=POD), "{{pod}}"),),
            kind=Kind.STATES,
            width=6,
            states=UP,
        ),
        Panel(
            "Heartbeats",
            "Heartbeats per second, by result. Anything but `ok` is an aggregator that is away, or "
            "that does not know the agent's token.",
            "ops",
            (
                Query(
                    total(f"{_AGENT}_heartbeats_total", by="pod, result", where=POD),
                    "{{pod}} {{result}}",
                ),
            ),
            width=6,
            minimum=0,
        ),
        Panel(
            "Transfers",
            "Weights moved within five minutes, by kind and result.",
            "short",
            (
                Query(
                    or_none(
                        growth(
                            f"{_AGENT}_transfers_total",
                            by="pod, kind, result",
                            where=POD,
                            window="5m",
                        ),
                        "pod",
                    ),
                    "{{pod}} {{kind}} {{result}}",
                ),
            ),
            width=6,
            decimals=0,
            minimum=0,
        ),
        Panel(
            "Transferred bytes",
            "Bytes of weights sent to the aggregator and received from it, per second.",
            "Bps",
            (
                Query(
                    total(f"{_AGENT}_transferred_bytes_total", by="pod, direction", where=POD),
                    "{{pod}} {{direction}}",
                ),
            ),
            width=6,
            minimum=0,
        ),
    ),
)
