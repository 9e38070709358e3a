"""The heads of a promotion, in their files until one is to draft.

The files are mapped, so they take no memory that the kernel could not take back. One head at a time
is built, in the type that is computed in, and is gone before the next training step: that one needs
more for its gradients, so the peak of the process stays where it was.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from specfleet_common import tensors
from specfleet_common.tensors import TensorError
from specfleet_trainer.checkpoint import CheckpointError
from specfleet_trainer.heads import Head

_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16}


class ContenderError(ValueError):
    """A head's file is missing, or is not the head that it should be."""


class Contenders:
    """Heads by their digests; `build` makes the one that their weights are loaded into."""

    def __init__(self, files: Mapping[str, Path], *, build: Callable[[], Head]) -> None:
        """Check every file's digest, and that its weights fit; ContenderError if not."""
        self._weights = [_opened(path, digest) for digest, path in files.items()]
        self._build = build
        try:
            for _ in self.heads():
                pass
        except CheckpointError as error:
            names = ", ".join(str(path) for path in files.values())
            raise ContenderError(f"one of {names}: {error}") from error

    def heads(self) -> Iterator[Head]:
        """Yield one head again and again, with the weights of each; to be used before the next."""
        head = self._build()
        for weights in self._weights:
            head.load_checkpoint(weights)
            yield head


class _Mapped(Mapping[str, Tensor]):
    """The tensors of one file, which may be replaced or deleted meanwhile."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = memoryview(b"")
            if os.fstat(file.fileno()).st_size:
                # Private, not read-only: torch warns of what it could not write to.
                self._bytes = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        self._entries = {entry.name: entry for entry in tensors.entries_of(self._bytes)}

    def digest(self) -> str:
        """Return the digest of the content."""
        return tensors.content_digest(self._bytes)

    def __getitem__(self, name: str) -> Tensor:
        entry = self._entries[name]
        count = math.prod(entry.shape)
        flat = torch.frombuffer(
            self._bytes, dtype=_DTYPES[entry.code], count=count, offset=entry.begin
        )
        return flat.view(entry.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _opened(path: Path, digest: str) -> _Mapped:
    try:
        mapped = _Mapped(path)
    except FileNotFoundError as error:
        raise ContenderError(f"{path}: is not there, expected a head") from error
    except OSError as error:
        raise ContenderError(f"{path}: cannot be read: {error}") from error
    except TensorError as error:
        raise ContenderError(f"{path}: not a head: {error}") from error
    found = mapped.digest()
    if found != digest:
        raise ContenderError(f"{path}: digest is {found}, expected {digest}")
    return mapped
