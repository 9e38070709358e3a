"""What workers are told to compare, and what they have measured, as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.tensors import quoted
from specfleet_common.wire.codec.checking import (
    WireError,
    checked_name,
    checked_observed,
    not_negative,
    positive,
)
from specfleet_common.wire.codec.references import (
    decode_lineage_id,
    decode_version,
    encode_version,
)
from specfleet_common.wire.messages import (
    Comparison,
    Evidence,
    EvidenceReply,
    VersionRef,
    WalkOrders,
)
from specfleet_common.wire.v1 import specfleet_pb2 as pb

MAX_RECORDS = 2000
MAX_DIGESTS = 64
MAX_KEY_LETTERS = 200

Message = TypeVar("Message")
Record = TypeVar("Record")


def encode_comparison(comparison: Comparison) -> pb.Comparison:
    """Return the message that tells an engine what to run in turn."""
    return pb.Comparison(
        id=comparison.id,
        seed=comparison.seed,
        trial=encode_version(comparison.trial),
        base=encode_version(comparison.base),
        elapsed_seconds=comparison.elapsed_seconds,
        block_seconds=comparison.block_seconds,
        washout_seconds=comparison.washout_seconds,
        one_pair_in=comparison.one_pair_in,
    )


def decode_comparison(message: pb.Comparison) -> Comparison:
    """Return what an engine runs in turn."""
    comparison = Comparison(
        id=checked_name(message.id, "comparison.id"),
        seed=checked_name(message.seed, "comparison.seed"),
        trial=_version(message.trial, "comparison.trial"),
        base=_version(message.base, "comparison.base"),
        elapsed_seconds=not_negative(message.elapsed_seconds, "comparison.elapsed_seconds"),
        block_seconds=positive(message.block_seconds, "comparison.block_seconds"),
        washout_seconds=not_negative(message.washout_seconds, "comparison.washout_seconds"),
        one_pair_in=int(positive(message.one_pair_in, "comparison.one_pair_in")),
    )
    if comparison.washout_seconds >= comparison.block_seconds:
        raise WireError(
            f"comparison.washout_seconds: is {comparison.washout_seconds}, "
            f"expected less than a block of {comparison.block_seconds}"
        )
    return comparison


def encode_walk_orders(orders: WalkOrders) -> pb.WalkOrders:
    """Return the message that says which heads to walk."""
    return pb.WalkOrders(
        promotion=orders.promotion,
        candidate=encode_version(orders.candidate),
        stable=encode_version(orders.stable),
    )


def decode_walk_orders(message: pb.WalkOrders) -> WalkOrders:
    """Return which heads to walk."""
    return WalkOrders(
        promotion=checked_name(message.promotion, "walk.promotion"),
        candidate=_version(message.candidate, "walk.candidate"),
        stable=_version(message.stable, "walk.stable"),
    )


def encode_evidence(evidence: Evidence) -> pb.PutEvidenceRequest:
    """Return the request that hands evidence in."""
    return pb.PutEvidenceRequest(
        worker_id=evidence.worker_id,
        lineage_id=evidence.lineage_id,
        set=evidence.set,
        walks=[_encode_walk(walk) for walk in evidence.walks],
        blocks=[_encode_block(block) for block in evidence.blocks],
        requests=[_encode_request(request) for request in evidence.requests],
    )


def decode_evidence(message: pb.PutEvidenceRequest) -> Evidence:
    """Return what a worker has measured; its records are of no other engine."""
    num_records = len(message.walks) + len(message.blocks) + len(message.requests)
    if num_records > MAX_RECORDS:
        raise WireError(f"evidence: has {num_records} records, expected at most {MAX_RECORDS}")
    worker_id = checked_name(message.worker_id, "worker_id")
    engines = {block.engine for block in message.blocks}
    engines |= {request.engine for request in message.requests}
    for engine in sorted(engines - {worker_id}):
        raise WireError(f"evidence: has records of engine {quoted(engine)}, expected {worker_id!r}")
    return Evidence(
        worker_id=worker_id,
        lineage_id=decode_lineage_id(message.lineage_id),
        set=checked_name(message.set, "set"),
        walks=_records(message.walks, _decode_walk),
        blocks=_records(message.blocks, _decode_block),
        requests=_records(message.requests, _decode_request),
    )


def encode_evidence_reply(reply: EvidenceReply) -> pb.PutEvidenceReply:
    """Return the reply to evidence."""
    return pb.PutEvidenceReply(wanted=reply.wanted, reason=reply.reason)


def decode_evidence_reply(message: pb.PutEvidenceReply) -> EvidenceReply:
    """Return what became of evidence."""
    return EvidenceReply(message.wanted, message.reason)


def _records(
    messages: Iterable[Message], decode: Callable[[Message], Record]
) -> tuple[Record, ...]:
    try:
        return tuple(decode(message) for message in messages)
    except WireError:
        raise
    except ValueError as error:
        raise WireError(f"evidence: {error}") from error


def _version(message: pb.VersionRef, field: str) -> VersionRef:
    version = decode_version(message)
    if version is None:
        raise WireError(f"{field}: is missing")
    return version


def _encode_walk(walk: Walk) -> pb.WalkRecord:
    return pb.WalkRecord(
        request=walk.request,
        conversation=walk.conversation,
        domain=walk.domain,
        tokens=walk.tokens,
        candidate_steps=walk.candidate_steps,
        stable_steps=walk.stable_steps,
        stock_steps=walk.stock_steps,
    )


def _decode_walk(message: pb.WalkRecord) -> Walk:
    return Walk(
        request=_key(message.request, "walks.request"),
        conversation=_key(message.conversation, "walks.conversation"),
        domain=checked_name(message.domain, "walks.domain") if message.domain else "",
        tokens=message.tokens,
        candidate_steps=message.candidate_steps,
        stable_steps=message.stable_steps,
        stock_steps=message.stock_steps,
    )


def _encode_block(block: Block) -> pb.BlockRecord:
    return pb.BlockRecord(
        engine=block.engine,
        block=block.block,
        band=block.band,
        digest=block.digest,
        swaps=block.swaps,
        busy_seconds=block.busy_seconds,
        tokens=block.tokens,
        verify_steps=block.verify_steps,
    )


def _decode_block(message: pb.BlockRecord) -> Block:
    return Block(
        engine=checked_name(message.engine, "blocks.engine"),
        block=message.block,
        band=message.band,
        digest=checked_observed(message.digest, "blocks.digest"),
        swaps=message.swaps,
        busy_seconds=message.busy_seconds,
        tokens=message.tokens,
        verify_steps=message.verify_steps,
    )


def _encode_request(request: Request) -> pb.RequestRecord:
    return pb.RequestRecord(
        request=request.request,
        engine=request.engine,
        started=request.started,
        digests=request.digests,
        failed=request.failed,
        ttft_seconds=request.ttft_seconds,
        tpot_seconds=request.tpot_seconds,
        preemptions=request.preemptions,
    )


def _decode_request(message: pb.RequestRecord) -> Request:
    if len(message.digests) > MAX_DIGESTS:
        raise WireError(
            f"requests.digests: has {len(message.digests)}, expected at most {MAX_DIGESTS}"
        )
    return Request(
        request=_key(message.request, "requests.request"),
        engine=checked_name(message.engine, "requests.engine"),
        started=message.started,
        digests=tuple(checked_observed(digest, "requests.digests") for digest in message.digests),
        failed=message.failed,
        ttft_seconds=message.ttft_seconds,
        tpot_seconds=message.tpot_seconds,
        preemptions=message.preemptions,
    )


def _key(value: str, field: str) -> str:
    """Return what tells records apart; a user's own request ids may have any letters."""
    if not 0 < len(value) <= MAX_KEY_LETTERS:
        raise WireError(f"{field}: has {len(value)} letters, expected 1 to {MAX_KEY_LETTERS}")
    return value
