"""Digests of a target's checkpoint and of live parameters; only the latter needs torch."""

from __future__ import annotations

import hashlib
from pathlib import Path

from specfleet_engine.layouts import Parameters

BLOCK_BYTES = 4096
BLOCKS_PER_FILE = 4096


def target_digest(model: Path) -> str:
    """Return the SHA-256 of a checkpoint's configuration and of samples of its weights.

    Of a file up to 16 MiB every byte counts; of a larger one its size, its first MiB (names and
    shapes) and 4,096 blocks of 4 KiB at even distances: fine-tuning or quantising changes nearly
    every block, and reading 16 MiB a file does not delay an engine's start.

    Raises FileNotFoundError when the folder has no safetensors file.
    """
    weights = sorted(model.glob("*.safetensors"))
    if not weights:
        raise FileNotFoundError(f"{model}: no *.safetensors file, expected a model's folder")
    digest = hashlib.sha256((model / "config.json").read_bytes())
    for path in weights:
        size = path.stat().st_size
        digest.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            if size <= BLOCK_BYTES * BLOCKS_PER_FILE:
                digest.update(file.read())
                continue
            digest.update(file.read(1 << 20))
            for block in range(BLOCKS_PER_FILE):
                file.seek((size - BLOCK_BYTES) * block // (BLOCKS_PER_FILE - 1))
                digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


def fingerprint(parameters: Parameters) -> str:
    """Return the SHA-256 of the names and bytes of live or staged parameters."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(parameters):
        value = parameters[name].detach()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
