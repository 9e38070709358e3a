"""What stands at the start of every shared file, and how a reader refuses what it cannot read.

It does not touch files: `files` does.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass

FORMAT = 1
HEADER_BYTES = 4096
HIDDEN_DTYPES = {"float32": 4, "bfloat16": 2}
"""The dtypes of captured hidden states and the bytes of one element."""

_FIELDS = struct.Struct("<8sIIQQ")
_CHECKSUM = struct.Struct("<I")
_LARGEST = 1 << 24
_DESCRIPTION_OFFSET = _FIELDS.size + _CHECKSUM.size


class ShmAbsent(FileNotFoundError):
    """The other side has not created the file yet."""


class ShmMismatch(ValueError):
    """The file is not what this side can use: another kind, format, layout or size."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the kinds of shared file; `name` is for messages."""

    magic: bytes
    name: str
    has_layout: bool = True


RING = Kind(b"SPFLRING", "capture ring")
BANK = Kind(b"SPFLBANK", "weight bank")
PAGE = Kind(b"SPFLPAGE", "statistics page", has_layout=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """What both sides must agree on before one can use what the other wrote."""

    family: str
    layout: str
    lineage_id: str
    hidden_size: int
    hidden_dtype: str
    num_speculative_tokens: int

    def __post_init__(self) -> None:
        if self.hidden_dtype not in HIDDEN_DTYPES:
            raise ValueError(
                f"hidden_dtype is {self.hidden_dtype!r}, expected one of {sorted(HIDDEN_DTYPES)}"
            )
        if self.hidden_size < 1 or self.num_speculative_tokens < 1:
            raise ValueError(
                f"hidden_size is {self.hidden_size} and num_speculative_tokens is "
                f"{self.num_speculative_tokens}, expected at least 1 each"
            )


@dataclass(frozen=True, slots=True)
class Header:
    """The fixed part of a file. `incarnation` is random, so a new file never looks like an old one.

    `layout` is None in a page, which describes itself.
    """

    incarnation: int
    file_bytes: int
    layout: Layout | None


def pack_header(kind: Kind, header: Header) -> bytes:
    """Return the first HEADER_BYTES of a file."""
    description = b"" if header.layout is None else json.dumps(asdict(header.layout)).encode()
    if _DESCRIPTION_OFFSET + len(description) > HEADER_BYTES:
        raise ValueError(
            f"layout of {len(description)} bytes does not fit the {kind.name}'s header"
        )
    fields = _FIELDS.pack(
        kind.magic, FORMAT, len(description), header.incarnation, header.file_bytes
    )
    checksum = _CHECKSUM.pack(zlib.crc32(description, zlib.crc32(fields)))
    return (fields + checksum + description).ljust(HEADER_BYTES, b"\0")


def parse_header(kind: Kind, data: bytes, *, name: str, file_bytes: int) -> Header:
    """Undo `pack_header`; ShmMismatch, which names `name`, for anything else."""
    if len(data) < HEADER_BYTES:
        raise ShmMismatch(
            f"{name}: {file_bytes} bytes, expected a {kind.name} with a header of {HEADER_BYTES}"
        )
    magic, version, length, incarnation, size = _FIELDS.unpack_from(data)
    if magic != kind.magic:
        raise ShmMismatch(f"{name}: starts with {magic!r}, expected {kind.magic!r} ({kind.name})")
    if version != FORMAT:
        raise ShmMismatch(f"{name}: {kind.name} of format {version}, expected format {FORMAT}")
    description = data[_DESCRIPTION_OFFSET : _DESCRIPTION_OFFSET + length]
    (checksum,) = _CHECKSUM.unpack_from(data, _FIELDS.size)
    computed = zlib.crc32(description, zlib.crc32(data[: _FIELDS.size]))
    if checksum != computed:
        raise ShmMismatch(
            f"{name}: header's checksum is {checksum:08x}, expected {computed:08x}: damaged"
        )
    if size != file_bytes:
        raise ShmMismatch(f"{name}: {file_bytes} bytes, but its header says {size}: truncated")
    return Header(incarnation, size, _parse_layout(description, name=name) if description else None)


def _parse_layout(description: bytes, *, name: str) -> Layout:
    """Return a layout; another version may know other fields, which a checksum does not show."""
    try:
        layout = Layout(**json.loads(description))
    except (ValueError, TypeError, RecursionError) as error:
        raise ShmMismatch(
            f"{name}: its layout is not one of this version: {str(error)!a}"
        ) from error
    texts = (layout.family, layout.layout, layout.lineage_id)
    numbers = (layout.hidden_size, layout.num_speculative_tokens)
    if not all(isinstance(text, str) for text in texts) or not all(
        type(number) is int and number <= _LARGEST for number in numbers
    ):
        raise ShmMismatch(
            f"{name}: its layout is {layout!a}, expected texts and numbers up to {_LARGEST}"
        )
    return layout


def require_layout(found: Layout | None, expected: Layout, *, name: str) -> None:
    """Refuse a file of another layout with the fields that differ."""
    theirs = {} if found is None else asdict(found)
    differing = [
        f"{field} is {theirs.get(field)!r}, expected {value!r}"
        for field, value in asdict(expected).items()
        if theirs.get(field) != value
    ]
    if differing:
        raise ShmMismatch(f"{name}: {'; '.join(differing)}")
