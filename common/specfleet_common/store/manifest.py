"""What the store says of one version. The manifest is written last: with it, the version exists."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from specfleet_common.lineage import Lineage

FORMAT = 1


class ManifestError(ValueError):
    """Bytes are not a manifest of this format."""


@dataclass(frozen=True, slots=True)
class Content:
    """One safetensors file beside the manifest, and the digest of its content."""

    file: str
    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version. Without `outer` the outer state is the drafter itself, with no velocity."""

    format: int
    lineage: Lineage
    number: int
    parent: int | None
    created_at: float
    drafter: Content
    outer: Content | None
    parameter_norm: float
    workers: tuple[str, ...]
    positions: int
    reason: str


_ADAPTER = TypeAdapter(Manifest)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as JSON."""
    return _ADAPTER.dump_json(manifest, indent=2)


def decode_manifest(data: bytes | memoryview) -> Manifest:
    """Return the manifest that JSON bytes hold; ManifestError when they hold none."""
    try:
        manifest = _ADAPTER.validate_json(bytes(data), strict=True)
    except ValidationError as error:
        raise ManifestError(f"not a manifest: {error}") from error
    if manifest.format != FORMAT:
        raise ManifestError(f"format is {manifest.format}, expected {FORMAT}")
    return manifest
