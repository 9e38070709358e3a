"""Heartbeats and their replies as messages."""

from __future__ import annotations

from specfleet_common.wire.codec.checking import (
    PROTOCOL,
    check_protocol,
    checked_codec,
    checked_digest,
    checked_name,
    checked_observed,
    checked_problem,
    checked_serve,
    not_negative,
    positive,
)
from specfleet_common.wire.codec.judging import (
    decode_comparison,
    decode_walk_orders,
    encode_comparison,
    encode_walk_orders,
)
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
from specfleet_common.wire.messages import Heartbeat, HeartbeatReply, TrainingOrders
from specfleet_common.wire.v1 import specfleet_pb2 as pb


def encode_heartbeat(beat: Heartbeat) -> pb.HeartbeatRequest:
    """Return the request that says `beat`."""
    return pb.HeartbeatRequest(
        protocol=PROTOCOL,
        worker_id=beat.worker_id,
        cohort=beat.cohort,
        trains=beat.trains,
        lineage=encode_lineage(beat.lineage) if beat.lineage else None,
        stock_digest=beat.stock_digest,
        held=encode_version(beat.held),
        observed_digest=beat.observed_digest,
        swaps=beat.swaps,
        trainer=encode_trainer(beat.trainer),
        drafters=[encode_counters(counters) for counters in beat.drafters],
        engine_problem=beat.engine_problem,
        serve=beat.serve,
        speculation=encode_speculation(beat.speculation) if beat.speculation else None,
    )


def decode_heartbeat(message: pb.HeartbeatRequest) -> Heartbeat:
    """Return what a worker says."""
    check_protocol(message.protocol)
    problem = checked_problem(message.engine_problem, "engine_problem")
    has_none = bool(problem) and not message.HasField("lineage")
    return Heartbeat(
        worker_id=checked_name(message.worker_id, "worker_id"),
        cohort=checked_name(message.cohort, "cohort"),
        trains=message.trains,
        lineage=None if has_none else decode_lineage(message.lineage),
        stock_digest=checked_digest(message.stock_digest, "stock_digest", may_be_empty=True),
        held=decode_version(message.held),
        observed_digest=checked_observed(message.observed_digest, "observed_digest"),
        swaps=message.swaps,
        trainer=decode_trainer(message.trainer),
        drafters=decode_drafters(message.drafters),
        engine_problem=problem,
        serve=checked_serve(message.serve, "serve"),
        speculation=(
            decode_speculation(message.speculation) if message.HasField("speculation") else None
        ),
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
            fresh=orders.fresh,
        ),
        delta_counted=reply.delta_counted,
        lease_seconds=reply.lease_seconds,
        heartbeat_seconds=reply.heartbeat_seconds,
        counted_version=reply.counted_version,
        serve=encode_version(reply.serve),
        comparison=encode_comparison(reply.comparison) if reply.comparison else None,
        walk=encode_walk_orders(reply.walk) if reply.walk else None,
    )


def decode_reply(message: pb.HeartbeatReply) -> HeartbeatReply:
    """Return what the aggregator wants of a worker."""
    check_protocol(message.protocol)
    orders = message.orders
    return HeartbeatReply(
        stock_wanted=message.stock_wanted,
        round=message.round,
        base=decode_version(message.base),
        stable=decode_version(message.stable),
        orders=TrainingOrders(
            local_steps=int(positive(orders.local_steps, "orders.local_steps")),
            learning_rate=positive(orders.learning_rate, "orders.learning_rate"),
            depth_weights=tuple(
                not_negative(weight, "orders.depth_weights") for weight in orders.depth_weights
            ),
            rows_per_step=int(positive(orders.rows_per_step, "orders.rows_per_step")),
            publish_every_steps=orders.publish_every_steps,
            codec=checked_codec(orders.codec, "orders.codec"),
            dpace=orders.dpace,
            fresh=orders.fresh,
        ),
        delta_counted=message.delta_counted,
        lease_seconds=positive(message.lease_seconds, "lease_seconds"),
        heartbeat_seconds=positive(message.heartbeat_seconds, "heartbeat_seconds"),
        counted_version=message.counted_version,
        serve=decode_version(message.serve),
        comparison=(
            decode_comparison(message.comparison) if message.HasField("comparison") else None
        ),
        walk=decode_walk_orders(message.walk) if message.HasField("walk") else None,
    )
