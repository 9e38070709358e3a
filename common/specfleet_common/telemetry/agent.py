"""The metrics of the agent: its own doings, and what engine and trainer say about themselves.

What is not known yet, or is of an engine that is not there, is absent.
"""

from __future__ import annotations

from specfleet_common.telemetry.metric import Metric, declared

_DRAFTER = ("drafter",)
_DRAFTERS = "by drafter: stock, version (any global version), local"
_RESULTS = "ok, unreachable, unauthorized, refused"

CONNECTED = Metric(
    "gauge",
    "specfleet_agent_connected",
    "0 or 1",
    "1 while the aggregator answers heartbeats.",
)
HEARTBEATS = Metric(
    "counter",
    "specfleet_agent_heartbeats_total",
    "calls",
    f"Heartbeats, by result: {_RESULTS}.",
    ("result",),
)
LEASE_VALID = Metric(
    "gauge",
    "specfleet_agent_lease_valid",
    "0 or 1",
    "1 while the lease lasts that the aggregator gave with its last answer.",
)
ROUND = Metric("gauge", "specfleet_agent_round", "number", "The round the agent works on.")
VERSION = Metric(
    "gauge", "specfleet_agent_version", "number", "The global version held for training."
)
SERVED_VERSION = Metric(
    "gauge",
    "specfleet_agent_served_version",
    "number",
    "The global version that the engine was seen to run; 0 is stock. Absent while it runs local "
    "weights, or something that no version is known for.",
)
DELTAS = Metric(
    "counter",
    "specfleet_agent_deltas_total",
    "deltas",
    "Deltas handed in, by what became of them: accepted, duplicate, stale, foreign, refused.",
    ("outcome",),
)
TRANSFERS = Metric(
    "counter",
    "specfleet_agent_transfers_total",
    "transfers",
    f"Weights moved, by kind (put_stock, push_delta, pull) and result ({_RESULTS}).",
    ("kind", "result"),
)
TRANSFERRED_BYTES = Metric(
    "counter",
    "specfleet_agent_transferred_bytes_total",
    "bytes",
    "Weights that went whole to the aggregator or came from it, by direction: sent, received.",
    ("direction",),
)
BANK_PUBLICATIONS = Metric(
    "counter",
    "specfleet_agent_bank_publications_total",
    "publications",
    "Weights handed to the engine, by label: stock, version, local.",
    ("label",),
)
BANK_REFUSALS = Metric(
    "counter",
    "specfleet_agent_bank_refusals_total",
    "publications",
    "Weights that the running engine refused, by reason: torn, format, layout, weights.",
    ("reason",),
)
ENGINE_ADAPTING = Metric(
    "gauge",
    "specfleet_agent_engine_adapting",
    "0 or 1",
    "1 while the running engine takes weights, 0 once a failure has ended that.",
)
SWAPS = Metric(
    "counter",
    "specfleet_agent_swaps_total",
    "swaps",
    "Exchanges of the drafter in the running engine.",
)
SWAP_APPLY = Metric(
    "gauge",
    "specfleet_agent_swap_apply_seconds",
    "seconds",
    "How long the newest exchange took between two steps; on a GPU, until its copies were queued.",
)
DIGEST_MISMATCHES = Metric(
    "counter",
    "specfleet_agent_digest_mismatches_total",
    "mismatches",
    "Times that the engine's live drafter turned out not to be the one that was put there, or that "
    "its ranks ran different ones.",
)
VERIFY_STEPS = Metric(
    "counter",
    "specfleet_agent_verify_steps_total",
    "steps",
    f"Verify steps of the running engine, {_DRAFTERS}.",
    _DRAFTER,
)
OUTPUT_TOKENS = Metric(
    "counter",
    "specfleet_agent_output_tokens_total",
    "tokens",
    "Tokens that the running engine's verify steps put out, by drafter. Divided by the verify "
    "steps, the acceptance length.",
    _DRAFTER,
)
BUSY = Metric(
    "counter",
    "specfleet_agent_busy_seconds_total",
    "seconds",
    "Time that the running engine was in a step, by drafter.",
    _DRAFTER,
)
DRAFTED_TOKENS = Metric(
    "counter",
    "specfleet_agent_drafted_tokens_total",
    "tokens",
    "Tokens drafted by the running engine, by drafter and position from 1.",
    ("drafter", "position"),
)
ACCEPTED_TOKENS = Metric(
    "counter",
    "specfleet_agent_accepted_tokens_total",
    "tokens",
    "Drafted tokens that the target confirmed, by drafter and position from 1.",
    ("drafter", "position"),
)
BREAK_EVEN = Metric(
    "gauge",
    "specfleet_agent_break_even_acceptance_length",
    "tokens",
    "The acceptance length from which on speculation is faster than none, by batch band: how many "
    "binary digits the number of requests in the batch has. Absent until it was measured.",
    ("band",),
)
CAPTURED_ROWS = Metric(
    "counter",
    "specfleet_agent_captured_rows_total",
    "rows",
    "Rows captured by the running engine.",
)
DROPPED_RECORDS = Metric(
    "counter",
    "specfleet_agent_dropped_records_total",
    "records",
    "Capture records dropped because the ring was full.",
)
TRAINER_RUNNING = Metric(
    "gauge",
    "specfleet_agent_trainer_running",
    "0 or 1",
    "1 while the trainer process lives.",
)
TRAINER_PARKED = Metric(
    "gauge",
    "specfleet_agent_trainer_parked",
    "0 or 1",
    "1 while the trainer failed too often and is tried only every five minutes.",
)
TRAINER_RESTARTS = Metric(
    "counter",
    "specfleet_agent_trainer_restarts_total",
    "restarts",
    "Trainer restarts, by cause: exit, memory, hang.",
    ("cause",),
)
TRAINER_MEMORY = Metric(
    "gauge",
    "specfleet_agent_trainer_memory_bytes",
    "bytes",
    "Memory that the trainer alone holds, without mapped files.",
)
TRAINER_STEPS = Metric(
    "counter",
    "specfleet_agent_trainer_steps_total",
    "steps",
    "Training steps since the state began.",
)
TRAINER_LOCAL_STEPS = Metric(
    "gauge",
    "specfleet_agent_trainer_local_steps",
    "steps",
    "Training steps in the open round.",
)
TRAINER_POSITIONS = Metric(
    "counter",
    "specfleet_agent_trainer_positions_total",
    "positions",
    "Positions trained since the state began.",
)
TRAINER_POSITIONS_RATE = Metric(
    "gauge",
    "specfleet_agent_trainer_positions_per_second",
    "1/s",
    "Positions trained per second, over the last half minute.",
)
TRAINER_LOSS = Metric(
    "gauge",
    "specfleet_agent_trainer_loss",
    "nats",
    "Loss of the newest step, by depth from 1.",
    ("depth",),
)
BLOCKS = Metric(
    "counter",
    "specfleet_agent_blocks_total",
    "blocks",
    "Blocks of comparisons of which the engine's work was recorded.",
)
REQUESTS = Metric(
    "counter",
    "specfleet_agent_requests_total",
    "requests",
    "Requests that ended during comparisons, by result: recorded, or unknown where nothing tells "
    "which drafters proposed.",
    ("result",),
)
EVIDENCE = Metric(
    "counter",
    "specfleet_agent_evidence_total",
    "records",
    "Records for promotions, by kind (walk, block, request) and what became of them (stored, "
    "unwanted, refused, dropped because too many waited).",
    ("kind", "result"),
)
EVIDENCE_CALLS = Metric(
    "counter",
    "specfleet_agent_evidence_calls_total",
    "calls",
    f"Calls that hand in records, by result: {_RESULTS}.",
    ("result",),
)
LOOP_FAILURES = Metric(
    "counter",
    "specfleet_agent_loop_failures_total",
    "failures",
    "Steps of the agent that failed unexpectedly and were tried again, by loop: deliver, evidence, "
    "heartbeat, read, reap, supervise, transfer, witness.",
    ("loop",),
)

ALL = declared(globals())
