"""The digest of tensors' content: names, dtypes, shapes and values, not the header's layout."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import BinaryIO

from specfleet_common.tensors.arrays import TensorMap
from specfleet_common.tensors.decoding import entries_of, entries_of_open_file
from specfleet_common.tensors.encoding import bytes_of, code_of
from specfleet_common.tensors.layout import LENGTH

_READ_BYTES = 1 << 20


def encoded_digest(tensors: TensorMap, dtype: str = "float32") -> str:
    """Return the content digest of what `encode` returns, without building it."""
    code = code_of(tensors, dtype)
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(_digest_line(name, code, tensors[name].shape))
        digest.update(bytes_of(tensors[name], code))
    return digest.hexdigest()


def content_digest(data: bytes | memoryview) -> str:
    """Return the SHA-256 of names, dtypes, shapes and values, whatever the header's layout."""
    source = memoryview(data).cast("B")
    digest = hashlib.sha256()
    for entry in entries_of(source):
        digest.update(_digest_line(entry.name, entry.code, entry.shape))
        digest.update(source[entry.begin : entry.end])
    return digest.hexdigest()


def content_digest_of_file(path: Path) -> str:
    """Return the content digest of a file, with no more than 1 MiB of it in memory at once."""
    with path.open("rb") as file:
        return content_digest_of_open_file(file)


def content_digest_of_open_file(file: BinaryIO) -> str:
    """Return the content digest of a file that stays the same when another takes its path."""
    digest = hashlib.sha256()
    for entry in entries_of_open_file(file):
        digest.update(_digest_line(entry.name, entry.code, entry.shape))
        file.seek(entry.begin)
        for at in range(entry.begin, entry.end, _READ_BYTES):
            digest.update(file.read(min(_READ_BYTES, entry.end - at)))
    return digest.hexdigest()


def _digest_line(name: str, code: str, shape: tuple[int, ...]) -> bytes:
    line = json.dumps([name, code, list(shape)]).encode()
    return LENGTH.pack(len(line)) + line
