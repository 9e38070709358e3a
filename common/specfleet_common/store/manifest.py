"""What the store says of one version. The manifest is written last: with it, the version exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from specfleet_common.fields import Count, Digest
from specfleet_common.lineage import Lineage
from specfleet_common.mistakes import summary
from specfleet_common.store.sealing import SealError, check_seal, sealed

FORMAT = 1
MANIFEST_FILE = "manifest.json"
"""In the directory of its version, beside what it names."""

FileName = Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Beside the manifest: never a way to somewhere else."""


class ManifestError(ValueError):
    """Bytes are not a manifest of this format."""


@dataclass(frozen=True, slots=True)
class Content:
    """One safetensors file beside the manifest, and the digest of its content."""

    file: FileName
    digest: Digest
    size_bytes: Count


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version. Without `outer` the outer state is the drafter itself, with no velocity."""

    format: int
    lineage: Lineage
    number: Count
    parent: Count | None
    created_at: float
    drafter: Content
    outer: Content | None
    parameter_norm: float
    workers: tuple[str, ...]
    positions: Count
    reason: str

    @property
    def contents(self) -> tuple[Content, ...]:
        """Return the files that it names."""
        return (self.drafter,) if self.outer is None else (self.drafter, self.outer)


_ADAPTER = TypeAdapter(Manifest)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as JSON."""
    return sealed(_ADAPTER.dump_json(manifest, indent=2))


def decode_manifest(data: bytes | memoryview) -> Manifest:
    """Return the manifest that JSON bytes hold; ManifestError when they hold none."""
    try:
        manifest = _ADAPTER.validate_json(bytes(data), strict=True)
    except ValidationError as error:
        raise ManifestError(f"not a manifest: {summary(error)}") from error
    if manifest.format != FORMAT:
        raise ManifestError(f"format is {manifest.format}, expected {FORMAT}")
    try:
        check_seal(bytes(data))
    except SealError as error:
        raise ManifestError(f"not a manifest: {error}") from error
    return manifest
