"""Strict translation between messages and protobuf: refuses what the contract does not allow."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import LOCAL, MISMATCH, STOCK, Lineage
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    DrafterCounters,
    FleetState,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    TrainerStatus,
    TrainingOrders,
    VersionRef,
    WorkerState,
)
from specfleet_common.wire.v1 import specfleet_pb2 as pb

PROTOCOL = 1
ACCEPTED_PROTOCOLS = frozenset({PROTOCOL, PROTOCOL - 1} - {0})

PHASES = frozenset({"waiting", "training", "delivered", "restarting", "parked", "off"})
_WORDS = frozenset({STOCK, LOCAL, MISMATCH})
_DTYPES = frozenset({"float32", "bfloat16"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{64}")
_LINEAGE_ID = re.compile(r"[0-9a-f]{16}")

_OUTCOMES = {
    Outcome.ACCEPTED: pb.PushDeltaReply.OUTCOME_ACCEPTED,
    Outcome.DUPLICATE: pb.PushDeltaReply.OUTCOME_DUPLICATE,
    Outcome.STALE: pb.PushDeltaReply.OUTCOME_STALE,
    Outcome.FOREIGN: pb.PushDeltaReply.OUTCOME_FOREIGN,
    Outcome.REFUSED: pb.PushDeltaReply.OUTCOME_REFUSED,
}


class WireError(ValueError):
    """A message is not what the contract allows."""


def encode_heartbeat(beat: Heartbeat) -> pb.HeartbeatRequest:
    """Return the request that says `beat`."""
    return pb.HeartbeatRequest(
        protocol=PROTOCOL,
        worker_id=beat.worker_id,
        cohort=beat.cohort,
        trains=beat.trains,
        lineage=encode_lineage(beat.lineage),
        stock_digest=beat.stock_digest,
        held=encode_version(beat.held),
        observed_digest=beat.observed_digest,
        swaps=beat.swaps,
        trainer=_encode_trainer(beat.trainer),
        drafters=[_encode_counters(counters) for counters in beat.drafters],
    )


def decode_heartbeat(message: pb.HeartbeatRequest) -> Heartbeat:
    """Return what a worker says."""
    _check_protocol(message.protocol)
    return Heartbeat(
        worker_id=_name(message.worker_id, "worker_id"),
        cohort=_name(message.cohort, "cohort"),
        trains=message.trains,
        lineage=decode_lineage(message.lineage),
        stock_digest=_digest(message.stock_digest, "stock_digest", may_be_empty=True),
        held=decode_version(message.held),
        observed_digest=_observed(message.observed_digest, "observed_digest"),
        swaps=message.swaps,
        trainer=_decode_trainer(message.trainer),
        drafters=_decode_drafters(message.drafters),
    )


def encode_reply(reply: HeartbeatReply) -> pb.HeartbeatReply:
    """Return the reply that says `reply`."""
    orders = reply.orders
    return pb.HeartbeatReply(
        protocol=PROTOCOL,
        stock_wanted=reply.stock_wanted,
        round=reply.round,
        base=encode_version(reply.base),
        stable=encode_version(reply.stable),
        orders=pb.TrainingOrders(
            local_steps=orders.local_steps,
            learning_rate=orders.learning_rate,
            depth_weights=orders.depth_weights,
            rows_per_step=orders.rows_per_step,
            publish_every_steps=orders.publish_every_steps,
            codec=orders.codec,
            dpace=orders.dpace,
        ),
        delta_counted=reply.delta_counted,
        lease_seconds=reply.lease_seconds,
        heartbeat_seconds=reply.heartbeat_seconds,
        counted_version=reply.counted_version,
    )


def decode_reply(message: pb.HeartbeatReply) -> HeartbeatReply:
    """Return what the aggregator wants of a worker."""
    _check_protocol(message.protocol)
    orders = message.orders
    return HeartbeatReply(
        stock_wanted=message.stock_wanted,
        round=message.round,
        base=decode_version(message.base),
        stable=decode_version(message.stable),
        orders=TrainingOrders(
            local_steps=int(_positive(orders.local_steps, "orders.local_steps")),
            learning_rate=_positive(orders.learning_rate, "orders.learning_rate"),
            depth_weights=tuple(
                _not_negative(weight, "orders.depth_weights") for weight in orders.depth_weights
            ),
            rows_per_step=int(_positive(orders.rows_per_step, "orders.rows_per_step")),
            publish_every_steps=orders.publish_every_steps,
            codec=_codec(orders.codec, "orders.codec"),
            dpace=orders.dpace,
        ),
        delta_counted=message.delta_counted,
        lease_seconds=_positive(message.lease_seconds, "lease_seconds"),
        heartbeat_seconds=_positive(message.heartbeat_seconds, "heartbeat_seconds"),
        counted_version=message.counted_version,
    )


def encode_delta_header(header: DeltaHeader) -> pb.DeltaHeader:
    """Return the first part of a delta."""
    return pb.DeltaHeader(
        worker_id=header.worker_id,
        lineage_id=header.lineage_id,
        round=header.round,
        base_version=header.base_version,
        digest=header.digest,
        size_bytes=header.size_bytes,
        steps=header.steps,
        positions=header.positions,
        codec=header.codec,
    )


def decode_delta_header(message: pb.DeltaHeader) -> DeltaHeader:
    """Return which delta follows."""
    return DeltaHeader(
        worker_id=_name(message.worker_id, "worker_id"),
        lineage_id=decode_lineage_id(message.lineage_id),
        round=message.round,
        base_version=message.base_version,
        digest=_digest(message.digest, "digest"),
        size_bytes=int(_positive(message.size_bytes, "size_bytes")),
        steps=message.steps,
        positions=message.positions,
        codec=_codec(message.codec, "codec"),
    )


def encode_delta_reply(reply: DeltaReply) -> pb.PushDeltaReply:
    """Return the reply that says what became of a delta."""
    return pb.PushDeltaReply(outcome=_OUTCOMES[reply.outcome], reason=reply.reason)


def decode_delta_reply(message: pb.PushDeltaReply) -> DeltaReply:
    """Return what became of a delta."""
    for outcome, number in _OUTCOMES.items():
        if number == message.outcome:
            return DeltaReply(outcome, message.reason)
    raise WireError(f"outcome: is {message.outcome}, expected one of {sorted(_OUTCOMES.values())}")


def encode_stock_header(lineage: Lineage, *, digest: str, size_bytes: int) -> pb.StockHeader:
    """Return the first part of a stock drafter."""
    return pb.StockHeader(lineage=encode_lineage(lineage), digest=digest, size_bytes=size_bytes)


def decode_stock_header(message: pb.StockHeader) -> tuple[Lineage, VersionRef]:
    """Return the lineage and the version 0 that follow."""
    size_bytes = int(_positive(message.size_bytes, "size_bytes"))
    version = VersionRef(0, _digest(message.digest, "digest"), size_bytes)
    return decode_lineage(message.lineage), version


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
    )


def decode_fleet(message: pb.FleetState) -> FleetState:
    """Return the state of one lineage of a fleet."""
    return FleetState(
        fleet=_name(message.fleet, "fleet"),
        lineage=decode_lineage(message.lineage) if message.HasField("lineage") else None,
        round=message.round,
        base=decode_version(message.base),
        stable=decode_version(message.stable),
        deltas=message.deltas,
        quorum=message.quorum,
        reason=message.reason,
        live_workers=message.live_workers,
        training_workers=message.training_workers,
        round_seconds=_not_negative(message.round_seconds, "round_seconds"),
        store_error=message.store_error,
        workers=tuple(_decode_worker(worker) for worker in message.workers),
        received_bytes=message.received_bytes,
        sent_bytes=message.sent_bytes,
        settings_generation=message.settings_generation,
        settings_error=message.settings_error,
    )


def encode_lineage(lineage: Lineage) -> pb.Lineage:
    """Return the message that names a lineage."""
    return pb.Lineage(
        target_digest=lineage.target_digest,
        family=lineage.family,
        layout=lineage.layout,
        dtype=lineage.dtype,
        shapes_digest=lineage.shapes_digest,
    )


def decode_lineage(message: pb.Lineage) -> Lineage:
    """Return the lineage that a message names."""
    if message.dtype not in _DTYPES:
        raise WireError(f"dtype: is {message.dtype!r}, expected one of {sorted(_DTYPES)}")
    return Lineage(
        target_digest=_digest(message.target_digest, "target_digest"),
        family=_name(message.family, "family"),
        layout=_name(message.layout, "layout"),
        dtype=message.dtype,
        shapes_digest=_digest(message.shapes_digest, "shapes_digest"),
    )


def decode_lineage_id(lineage_id: str) -> str:
    """Return a lineage's id; as it becomes part of paths, it must be what `Lineage.id` makes."""
    if not _LINEAGE_ID.fullmatch(lineage_id):
        raise WireError(f"lineage_id: is {lineage_id!r}, expected 16 hexadecimal digits")
    return lineage_id


def encode_version(version: VersionRef | None) -> pb.VersionRef:
    """Return the message that names a version; its digest is empty when there is none."""
    if version is None:
        return pb.VersionRef()
    return pb.VersionRef(
        number=version.number, digest=version.digest, size_bytes=version.size_bytes
    )


def decode_version(message: pb.VersionRef) -> VersionRef | None:
    """Return the version that a message names, None when its digest is empty."""
    if not message.digest:
        return None
    return VersionRef(message.number, _digest(message.digest, "digest"), message.size_bytes)


def _encode_trainer(trainer: TrainerStatus) -> pb.TrainerStatus:
    return pb.TrainerStatus(
        phase=trainer.phase,
        local_steps=trainer.local_steps,
        total_steps=trainer.total_steps,
        positions=trainer.positions,
        positions_per_second=trainer.positions_per_second,
        loss=trainer.loss,
    )


def _decode_trainer(message: pb.TrainerStatus) -> TrainerStatus:
    if message.phase not in PHASES:
        raise WireError(f"trainer.phase: is {message.phase!r}, expected one of {sorted(PHASES)}")
    return TrainerStatus(
        phase=message.phase,
        local_steps=message.local_steps,
        total_steps=message.total_steps,
        positions=message.positions,
        positions_per_second=_not_negative(
            message.positions_per_second, "trainer.positions_per_second"
        ),
        loss=tuple(message.loss),
    )


def _encode_counters(counters: DrafterCounters) -> pb.DrafterCounters:
    return pb.DrafterCounters(
        digest=counters.digest,
        verify_steps=counters.verify_steps,
        drafted=counters.drafted,
        accepted=counters.accepted,
        output_tokens=counters.output_tokens,
        busy_seconds=counters.busy_seconds,
    )


def _decode_drafters(messages: Sequence[pb.DrafterCounters]) -> tuple[DrafterCounters, ...]:
    return tuple(_decode_counters(message) for message in messages)


def _decode_counters(message: pb.DrafterCounters) -> DrafterCounters:
    if len(message.drafted) != len(message.accepted):
        raise WireError(
            f"drafters: {len(message.accepted)} depths accepted, expected {len(message.drafted)}"
        )
    return DrafterCounters(
        digest=_observed(message.digest, "drafters.digest"),
        verify_steps=message.verify_steps,
        drafted=tuple(message.drafted),
        accepted=tuple(message.accepted),
        output_tokens=message.output_tokens,
        busy_seconds=_not_negative(message.busy_seconds, "drafters.busy_seconds"),
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
        trainer=_encode_trainer(worker.trainer),
        drafters=[_encode_counters(counters) for counters in worker.drafters],
        refused_deltas=worker.refused_deltas,
        refusal=worker.refusal,
    )


def _decode_worker(message: pb.WorkerState) -> WorkerState:
    return WorkerState(
        worker_id=_name(message.worker_id, "worker_id"),
        cohort=_name(message.cohort, "cohort"),
        live=message.live,
        trains=message.trains,
        observed_digest=_observed(message.observed_digest, "observed_digest"),
        swaps=message.swaps,
        delta_counted=message.delta_counted,
        held=decode_version(message.held),
        trainer=_decode_trainer(message.trainer),
        drafters=_decode_drafters(message.drafters),
        refused_deltas=message.refused_deltas,
        refusal=message.refusal,
    )


def _check_protocol(protocol: int) -> None:
    if protocol not in ACCEPTED_PROTOCOLS:
        raise WireError(f"protocol: is {protocol}, expected one of {sorted(ACCEPTED_PROTOCOLS)}")


def _name(value: str, field: str) -> str:
    if not _NAME.fullmatch(value):
        raise WireError(f"{field}: is {value!r}, expected 1 to 128 letters, digits, '.', '_', '-'")
    return value


def _digest(value: str, field: str, *, may_be_empty: bool = False) -> str:
    if may_be_empty and not value:
        return value
    if not _HEXADECIMAL.fullmatch(value):
        raise WireError(f"{field}: is {value!r}, expected 64 hexadecimal digits")
    return value


def _codec(value: str, field: str) -> Codec:
    """Return a codec; who does not name one knows only the first."""
    if not value:
        return Codec.FLOAT32
    try:
        return Codec(value)
    except ValueError as error:
        known = [codec.value for codec in Codec]
        raise WireError(f"{field}: is {value!r}, expected one of {known}") from error


def _observed(value: str, field: str) -> str:
    if value in _WORDS:
        return value
    return _digest(value, field, may_be_empty=True)


def _positive(value: float, field: str) -> float:
    if not 0 < value < math.inf:
        raise WireError(f"{field}: is {value}, expected a positive number")
    return value


def _not_negative(value: float, field: str) -> float:
    if not 0 <= value < math.inf:
        raise WireError(f"{field}: is {value}, expected zero or more")
    return value
