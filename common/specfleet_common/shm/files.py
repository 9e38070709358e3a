"""Creating and opening shared files: whole or not at all, with their memory reserved.

A file becomes visible by a rename when it is complete, so no reader meets half of one. What lies
behind the header is the business of `ring` and `slots`.
"""

from __future__ import annotations

import mmap
import os
import secrets
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specfleet_common.shm.layout import (
    HEADER_BYTES,
    Header,
    Kind,
    Layout,
    ShmAbsent,
    ShmMismatch,
    pack_header,
    parse_header,
    require_layout,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CONTROL_BYTES = 4096
DATA_OFFSET = HEADER_BYTES + CONTROL_BYTES

_MODE = 0o660
"""Engine and sidecar are containers of one pod: perhaps two users, but one group."""


class Words(Protocol):
    """Aligned 8-byte words; each load and each store is one instruction, never torn."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


class Data(Protocol):
    """The bytes behind the control words."""

    def __getitem__(self, index: slice, /) -> memoryview: ...
    def __setitem__(self, index: slice, value: ReadableBuffer, /) -> None: ...


class SharedFile:
    """One file of shared memory; it is unmapped and closed with the object.

    `data` is mapped; `read_at` and `write_at` go through the kernel instead and so keep bulk data
    out of this process's resident memory.
    """

    def __init__(
        self, path: Path, descriptor: int, header: Header, *, writable: bool, populate: bool = False
    ) -> None:
        self.path = path
        self.header = header
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self._identity = _identity(os.fstat(descriptor))
        mapping = mmap.mmap(
            descriptor,
            header.file_bytes,
            flags=mmap.MAP_SHARED | (mmap.MAP_POPULATE if populate else 0),
            prot=mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0),
        )
        view = memoryview(mapping)
        # A view cast to "Q" copies 8 aligned bytes at once; struct's "<Q" would copy one by one.
        self.words: Words = view[HEADER_BYTES:DATA_OFFSET].cast("Q")
        self.data: Data = view[DATA_OFFSET:]
        self.data_bytes = header.file_bytes - DATA_OFFSET

    @property
    def layout(self) -> Layout:
        """The layout of a ring or a bank; pages have none."""
        assert self.header.layout is not None, "rings and banks are created with a layout"
        return self.header.layout

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes of the data from `offset` on; fewer where the file ends."""
        chunks = []
        while length > 0:
            chunk = os.pread(self._descriptor, length, DATA_OFFSET + offset)
            if not chunk:
                break
            chunks.append(chunk)
            offset += len(chunk)
            length -= len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def write_at(self, offset: int, data: ReadableBuffer) -> None:
        """Write all of `data` at `offset` of the data."""
        rest = memoryview(data)
        while rest.nbytes:
            written = os.pwrite(self._descriptor, rest, DATA_OFFSET + offset)
            rest = rest[written:]
            offset += written

    def is_replaced(self) -> bool:
        """Say whether another file stands at the path now; a file merely gone is not replaced."""
        try:
            return _identity(os.stat(self.path)) != self._identity
        except FileNotFoundError:
            return False


def create_file(
    path: Path, kind: Kind, layout: Layout | None, *, data_bytes: int, populate: bool = False
) -> SharedFile:
    """Put a new zeroed file at `path`, replacing what is there; OSError where memory is short.

    `populate` maps every page now rather than at its first use.
    """
    header = Header(secrets.randbits(64), DATA_OFFSET + data_bytes, layout)
    first_bytes = pack_header(kind, header)
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{header.incarnation:016x}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, _MODE)
    try:
        os.fchmod(descriptor, _MODE)
        _reserve(descriptor, header.file_bytes, path=path)
        os.pwrite(descriptor, first_bytes, 0)
        temporary.rename(path)
    except BaseException:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
        raise
    return SharedFile(path, descriptor, header, writable=True, populate=populate)


def open_file(path: Path, kind: Kind, layout: Layout | None, *, writable: bool) -> SharedFile:
    """Open what the other side created; ShmAbsent or ShmMismatch when it cannot be used.

    `layout` None accepts every layout.
    """
    flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError as error:
        raise ShmAbsent(error.errno, f"no {kind.name} yet", str(path)) from error
    try:
        file_bytes = os.fstat(descriptor).st_size
        data = os.pread(descriptor, HEADER_BYTES, 0)
        header = parse_header(kind, data, name=str(path), file_bytes=file_bytes)
        if file_bytes < DATA_OFFSET:
            raise ShmMismatch(
                f"{path}: {file_bytes} bytes, expected a {kind.name} of {DATA_OFFSET} and more"
            )
        if header.layout is None and kind.has_layout:
            raise ShmMismatch(f"{path}: {kind.name} without a layout, expected one")
        if layout is not None:
            require_layout(header.layout, layout, name=str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return SharedFile(path, descriptor, header, writable=writable)


def _identity(status: os.stat_result) -> tuple[int, int]:
    """Return what no other file has as long as this one is held open."""
    return status.st_dev, status.st_ino


def _reserve(descriptor: int, size: int, *, path: Path) -> None:
    # A sparse file would fail later, at the first use of a page, and by SIGBUS.
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        disk = os.statvfs(path.parent)
        free = disk.f_bavail * disk.f_frsize
        reason = f"needs {size} bytes, {path.parent} has {free} free ({error.strerror})"
        raise OSError(error.errno, reason, str(path)) from error
