"""Strict translation between messages and protobuf: refuses what the contract does not allow."""

from __future__ import annotations

from specfleet_common.wire.codec.checking import MAX_PROBLEM_LETTERS, PROTOCOL, WireError
from specfleet_common.wire.codec.fleets import decode_fleet, encode_fleet
from specfleet_common.wire.codec.heartbeats import (
    decode_heartbeat,
    decode_reply,
    encode_heartbeat,
    encode_reply,
)
from specfleet_common.wire.codec.judging import (
    MAX_RECORDS,
    decode_evidence,
    decode_evidence_reply,
    encode_evidence,
    encode_evidence_reply,
)
from specfleet_common.wire.codec.references import (
    decode_lineage_id,
    decode_version,
    encode_version,
)
from specfleet_common.wire.codec.reports import PHASES
from specfleet_common.wire.codec.uploads import (
    decode_delta_header,
    decode_delta_reply,
    decode_stock_header,
    encode_delta_header,
    encode_delta_reply,
    encode_stock_header,
)

__all__ = [
    "MAX_PROBLEM_LETTERS",
    "MAX_RECORDS",
    "PHASES",
    "PROTOCOL",
    "WireError",
    "decode_delta_header",
    "decode_delta_reply",
    "decode_evidence",
    "decode_evidence_reply",
    "decode_fleet",
    "decode_heartbeat",
    "decode_lineage_id",
    "decode_reply",
    "decode_stock_header",
    "decode_version",
    "encode_delta_header",
    "encode_delta_reply",
    "encode_evidence",
    "encode_evidence_reply",
    "encode_fleet",
    "encode_heartbeat",
    "encode_reply",
    "encode_stock_header",
    "encode_version",
]
