"""The first parts of deltas and of stock drafters, and the replies to them, as messages."""

from __future__ import annotations

from specfleet_common.lineage import Lineage
from specfleet_common.wire.codec.checking import (
    WireError,
    checked_codec,
    checked_digest,
    checked_name,
    positive,
)
from specfleet_common.wire.codec.references import (
    decode_lineage,
    decode_lineage_id,
    encode_lineage,
)
from specfleet_common.wire.messages import DeltaHeader, DeltaReply, Outcome, VersionRef
from specfleet_common.wire.v1 import specfleet_pb2 as pb

_OUTCOMES = {
    Outcome.ACCEPTED: pb.PushDeltaReply.OUTCOME_ACCEPTED,
    Outcome.DUPLICATE: pb.PushDeltaReply.OUTCOME_DUPLICATE,
    Outcome.STALE: pb.PushDeltaReply.OUTCOME_STALE,
    Outcome.FOREIGN: pb.PushDeltaReply.OUTCOME_FOREIGN,
    Outcome.REFUSED: pb.PushDeltaReply.OUTCOME_REFUSED,
}


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
        worker_id=checked_name(message.worker_id, "worker_id"),
        lineage_id=decode_lineage_id(message.lineage_id),
        round=message.round,
        base_version=message.base_version,
        digest=checked_digest(message.digest, "digest"),
        size_bytes=int(positive(message.size_bytes, "size_bytes")),
        steps=message.steps,
        positions=message.positions,
        codec=checked_codec(message.codec, "codec"),
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
    size_bytes = int(positive(message.size_bytes, "size_bytes"))
    version = VersionRef(0, checked_digest(message.digest, "digest"), size_bytes)
    return decode_lineage(message.lineage), version
