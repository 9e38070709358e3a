"""What comes over the wire, in both directions: protobuf bytes, as gRPC hands them over.

What is taken can be sent on: watchers get what workers have said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from google.protobuf.message import DecodeError

from specfleet_agent.tests.builders import STOCK_DIGEST, answer, version
from specfleet_common.codecs.codec import Codec
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.lineage import Lineage
from specfleet_common.wire import codec
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    Comparison,
    DeltaHeader,
    DeltaReply,
    DrafterCounters,
    EffectState,
    Evidence,
    EvidenceReply,
    FleetState,
    Heartbeat,
    Outcome,
    PromotionState,
    Speculation,
    TrainerStatus,
    WalkOrders,
    WorkerState,
)
from specfleet_common.wire.v1 import specfleet_pb2 as pb
from tools.fuzz.border import Border

_DIGEST = "d" * 64
_LINEAGE = Lineage("a" * 64, "mtp", "mimo", "bfloat16", "b" * 64)
_TRAINER = TrainerStatus("training", 3, 30, 900, 12.5, (2.0, 3.0))
_DRAFTERS = (DrafterCounters("stock", 5, (5, 4), (3, 1), 9, 0.5),)
BEAT = Heartbeat(
    worker_id="w-1",
    cohort="main",
    trains=True,
    lineage=_LINEAGE,
    stock_digest=STOCK_DIGEST,
    held=version(1),
    observed_digest="stock",
    swaps=1,
    trainer=_TRAINER,
    drafters=_DRAFTERS,
    serve="Stable",
    speculation=Speculation(2.5, 1.7, 100),
)
_REPLY = answer(
    base=version(1),
    comparison=Comparison("3-abc", "seed", version(1), version(0), 1.0, 30.0, 5.0, 1),
    walk=WalkOrders("3-abc", version(1), version(0)),
)
EVIDENCE = Evidence(
    worker_id="w-1",
    lineage_id=_LINEAGE.id,
    set="3-abc",
    walks=(Walk("r", "c", "", 9, 3, 4, 5),),
    blocks=(Block("w-1", 3, 2, "stock", 1, 2.5, 70, 30),),
    requests=(Request("r", "w-1", 1.5, ("stock",), False, 0.2, 0.01, 0),),
)
_PROMOTION = PromotionState(
    id="3-abc",
    number=3,
    digest=_DIGEST,
    phase="Canary",
    outcome="",
    sentence="compares",
    started_at=1.0,
    effects=(EffectState("all", "steps", 0.01, -0.02, 0.03, 90, 40),),
    breaches=("TPOT rose",),
)
_FLEET = FleetState(
    fleet="tiny",
    lineage=_LINEAGE,
    round=3,
    base=version(3),
    stable=version(1),
    deltas=1,
    quorum=2,
    reason="1 of 2 deltas",
    live_workers=2,
    training_workers=2,
    round_seconds=3.5,
    store_error="",
    workers=(
        WorkerState(
            worker_id="w-1",
            cohort="main",
            live=True,
            trains=True,
            observed_digest="stock",
            swaps=1,
            delta_counted=False,
            held=version(1),
            trainer=_TRAINER,
            drafters=_DRAFTERS,
            refused_deltas=0,
            refusal="",
        ),
    ),
    promotions=(_PROMOTION,),
)


class _Sent(Protocol):
    def SerializeToString(self) -> bytes: ...  # noqa: N802 (protobuf's name)


Sent = TypeVar("Sent", bound=_Sent)
Value = TypeVar("Value")


def borders() -> tuple[Border, ...]:
    """Return the borders of the wire."""
    return (
        _border(
            "heartbeat",
            pb.HeartbeatRequest.FromString,
            codec.decode_heartbeat,
            codec.encode_heartbeat,
            BEAT,
        ),
        _border(
            "reply to a heartbeat",
            pb.HeartbeatReply.FromString,
            codec.decode_reply,
            codec.encode_reply,
            _REPLY,
        ),
        _border(
            "header of a delta",
            pb.DeltaHeader.FromString,
            codec.decode_delta_header,
            codec.encode_delta_header,
            DeltaHeader("w-1", _LINEAGE.id, 3, 3, _DIGEST, 99, 4, 100, codec=Codec.INT8),
        ),
        _border(
            "reply to a delta",
            pb.PushDeltaReply.FromString,
            codec.decode_delta_reply,
            codec.encode_delta_reply,
            DeltaReply(Outcome.REFUSED, "some values are not finite"),
        ),
        _border(
            "header of a stock drafter",
            pb.StockHeader.FromString,
            codec.decode_stock_header,
            lambda taken: codec.encode_stock_header(
                taken[0], digest=taken[1].digest, size_bytes=taken[1].size_bytes
            ),
            (_LINEAGE, version(0)),
        ),
        _border(
            "evidence",
            pb.PutEvidenceRequest.FromString,
            codec.decode_evidence,
            codec.encode_evidence,
            EVIDENCE,
        ),
        _border(
            "reply to evidence",
            pb.PutEvidenceReply.FromString,
            codec.decode_evidence_reply,
            codec.encode_evidence_reply,
            EvidenceReply(True, "stored"),
        ),
        _border(
            "reference to a version",
            pb.VersionRef.FromString,
            lambda message: codec.decode_version(message) or version(0),
            codec.encode_version,
            version(1),
        ),
        _border(
            "state of a fleet",
            pb.FleetState.FromString,
            codec.decode_fleet,
            codec.encode_fleet,
            _FLEET,
        ),
    )


def _border(
    name: str,
    parse: Callable[[bytes], Sent],
    decode: Callable[[Sent], Value],
    encode: Callable[[Value], Sent],
    good: Value,
) -> Border:
    def take(data: bytes) -> None:
        encode(decode(parse(data))).SerializeToString()

    return Border(name, take, (DecodeError, WireError), (encode(good).SerializeToString(),))
