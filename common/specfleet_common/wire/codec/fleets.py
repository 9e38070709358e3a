"""The state of a fleet, as watchers get it, as messages."""

from __future__ import annotations

from specfleet_common.wire.codec.checking import (
    checked_name,
    checked_observed,
    checked_problem,
    not_negative,
)
from specfleet_common.wire.codec.promotions import decode_promotion, encode_promotion
from specfleet_common.wire.codec.references import (
    decode_lineage,
    decode_version,
    encode_lineage,
    encode_version,
)
from specfleet_common.wire.codec.reports import (
    decode_drafters,
    decode_speculation,
    decode_trainer,
    encode_counters,
    encode_speculation,
    encode_trainer,
)
from specfleet_common.wire.messages import FleetState, WorkerState
from specfleet_common.wire.v1 import specfleet_pb2 as pb


def encode_fleet(state: FleetState) -> pb.FleetState:
    """Return the message that shows `state`."""
    return pb.FleetState(
        fleet=state.fleet,
        lineage_id=state.lineage_id,
        lineage=encode_lineage(state.lineage) if state.lineage else None,
        round=state.round,
        base=encode_version(state.base),
        stable=encode_version(state.stable),
        deltas=state.deltas,
        quorum=state.quorum,
        reason=state.reason,
        live_workers=state.live_workers,
        training_workers=state.training_workers,
        round_seconds=state.round_seconds,
        store_error=state.store_error,
        workers=[_encode_worker(worker) for worker in state.workers],
        received_bytes=state.received_bytes,
        sent_bytes=state.sent_bytes,
        settings_generation=state.settings_generation,
        settings_error=state.settings_error,
        candidate=encode_version(state.candidate),
        promotions=[encode_promotion(promotion) for promotion in state.promotions],
    )


def decode_fleet(message: pb.FleetState) -> FleetState:
    """Return the state of one lineage of a fleet."""
    return FleetState(
        fleet=checked_name(message.fleet, "fleet"),
        lineage=decode_lineage(message.lineage) if message.HasField("lineage") else None,
        round=message.round,
        base=decode_version(message.base),
        stable=decode_version(message.stable),
        deltas=message.deltas,
        quorum=message.quorum,
        reason=message.reason,
        live_workers=message.live_workers,
        training_workers=message.training_workers,
        round_seconds=not_negative(message.round_seconds, "round_seconds"),
        store_error=message.store_error,
        workers=tuple(_decode_worker(worker) for worker in message.workers),
        received_bytes=message.received_bytes,
        sent_bytes=message.sent_bytes,
        settings_generation=message.settings_generation,
        settings_error=message.settings_error,
        candidate=decode_version(message.candidate),
        promotions=tuple(decode_promotion(promotion) for promotion in message.promotions),
    )


def _encode_worker(worker: WorkerState) -> pb.WorkerState:
    return pb.WorkerState(
        worker_id=worker.worker_id,
        cohort=worker.cohort,
        live=worker.live,
        trains=worker.trains,
        observed_digest=worker.observed_digest,
        swaps=worker.swaps,
        delta_counted=worker.delta_counted,
        held=encode_version(worker.held),
        trainer=encode_trainer(worker.trainer),
        drafters=[encode_counters(counters) for counters in worker.drafters],
        refused_deltas=worker.refused_deltas,
        refusal=worker.refusal,
        engine_problem=worker.engine_problem,
        speculation=encode_speculation(worker.speculation) if worker.speculation else None,
    )


def _decode_worker(message: pb.WorkerState) -> WorkerState:
    return WorkerState(
        worker_id=checked_name(message.worker_id, "worker_id"),
        cohort=checked_name(message.cohort, "cohort"),
        live=message.live,
        trains=message.trains,
        observed_digest=checked_observed(message.observed_digest, "observed_digest"),
        swaps=message.swaps,
        delta_counted=message.delta_counted,
        held=decode_version(message.held),
        trainer=decode_trainer(message.trainer),
        drafters=decode_drafters(message.drafters),
        refused_deltas=message.refused_deltas,
        refusal=message.refusal,
        engine_problem=checked_problem(message.engine_problem, "engine_problem"),
        speculation=(
            decode_speculation(message.speculation) if message.HasField("speculation") else None
        ),
    )
