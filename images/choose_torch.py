"""Splits an image's lock for a torch without CUDA, which the trainer has no use for.

PyPI's torch for Linux brings 5 GB of CUDA; the one without is on an index of PyTorch's own, under
the version with `+cpu` behind it. `--index` is that index: the lock is then written without torch
and all that is there only for CUDA, and torch's own requirement beside it, with `--sha256` when its
wheel is to be a certain one. Without an index the lock is used as it is, if torch is in the base
already. Run by the Dockerfile of the agent; needs nothing but Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LOCKED = "locked"
ONLY_FOR_CUDA = re.compile(r"(nvidia|cuda)-|triton\b")
TORCH = re.compile(r"torch==([^ +;\\]+)")


def main() -> int:
    """Write two files of requirements, of which the second may be empty."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("lock", type=Path)
    arguments.add_argument("--index", default="", help=f"an index, or {LOCKED}: torch as locked")
    arguments.add_argument("--sha256", default="", help="of the wheel that the index has")
    arguments.add_argument("--into", type=Path, required=True, metavar="DIRECTORY")
    options = arguments.parse_args()
    if not options.index and importlib.util.find_spec("torch") is None:
        arguments.error(
            "TORCH_INDEX is not given, expected the index that has torch without CUDA, or "
            f"{LOCKED} for the locked one with 5 GB of CUDA"
        )
    lock = options.lock.read_text()
    splits = options.index not in ("", LOCKED)
    rest, torch = split(lock, sha256=options.sha256) if splits else (lock, "")
    (options.into / "locked.txt").write_text(rest)
    (options.into / "torch.txt").write_text(torch)
    return 0


def split(lock: str, *, sha256: str = "") -> tuple[str, str]:
    """Return the lock without torch and CUDA, and the requirement of a torch without CUDA."""
    kept, torch = [], ""
    for entry in entries(lock):
        if (found := TORCH.match(entry)) is not None:
            torch = f"torch=={found[1]}+cpu{f' --hash=sha256:{sha256}' if sha256 else ''}\n"
        elif ONLY_FOR_CUDA.match(entry) is None:
            kept.append(entry)
    if not torch:
        raise ValueError("the lock has no torch, expected torch==VERSION")
    return "".join(kept), torch


def entries(lock: str) -> Iterator[str]:
    """Yield what a lock says about one package after the other, with its hashes."""
    yield from (one for one in re.split(r"^(?=\S)", lock, flags=re.MULTILINE) if one)


if __name__ == "__main__":
    sys.exit(main())
