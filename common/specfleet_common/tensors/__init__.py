"""Named arrays as safetensors bytes, and the digest of their content.

Arrays are float32 in memory; `float32` or `bfloat16` in the bytes. Everything runs without torch.
"""

from __future__ import annotations

from specfleet_common.tensors.arrays import (
    BLOCK,
    Array,
    TensorMap,
    blocks,
    from_bfloat16,
    is_finite,
    norm,
    to_bfloat16,
)
from specfleet_common.tensors.checking import (
    TensorError,
    check_shapes,
    checked_name,
    checked_shape,
    quoted,
)
from specfleet_common.tensors.decoding import (
    decode,
    dtype_of,
    entries_of,
    entries_of_open_file,
    shapes_of,
    view,
)
from specfleet_common.tensors.digests import (
    content_digest,
    content_digest_of_file,
    content_digest_of_open_file,
    encoded_digest,
)
from specfleet_common.tensors.encoding import encode, encode_parts, encoded_size_bytes
from specfleet_common.tensors.layout import Entry, encode_header

__all__ = [
    "BLOCK",
    "Array",
    "Entry",
    "TensorError",
    "TensorMap",
    "blocks",
    "check_shapes",
    "checked_name",
    "checked_shape",
    "content_digest",
    "content_digest_of_file",
    "content_digest_of_open_file",
    "decode",
    "dtype_of",
    "encode",
    "encode_header",
    "encode_parts",
    "encoded_digest",
    "encoded_size_bytes",
    "entries_of",
    "entries_of_open_file",
    "from_bfloat16",
    "is_finite",
    "norm",
    "quoted",
    "shapes_of",
    "to_bfloat16",
    "view",
]
