"""Lineages and versions as messages."""

from __future__ import annotations

import re

from specfleet_common.lineage import Lineage
from specfleet_common.tensors import quoted
from specfleet_common.wire.codec.checking import WireError, checked_digest, checked_name
from specfleet_common.wire.messages import VersionRef
from specfleet_common.wire.v1 import specfleet_pb2 as pb

_DTYPES = frozenset({"float32", "bfloat16"})
_LINEAGE_ID = re.compile(r"[0-9a-f]{16}")


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
        raise WireError(f"dtype: is {quoted(message.dtype)}, expected one of {sorted(_DTYPES)}")
    return Lineage(
        target_digest=checked_digest(message.target_digest, "target_digest"),
        family=checked_name(message.family, "family"),
        layout=checked_name(message.layout, "layout"),
        dtype=message.dtype,
        shapes_digest=checked_digest(message.shapes_digest, "shapes_digest"),
    )


def decode_lineage_id(lineage_id: str) -> str:
    """Return a lineage's id; as it becomes part of paths, it must be what `Lineage.id` makes."""
    if not _LINEAGE_ID.fullmatch(lineage_id):
        raise WireError(f"lineage_id: is {quoted(lineage_id)}, expected 16 hexadecimal digits")
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
    return VersionRef(message.number, checked_digest(message.digest, "digest"), message.size_bytes)
