"""Splits an image's lock for a torch without CUDA, of which nothing on a CPU has any use.

PyPI's torch for Linux brings 5 GB of CUDA; the one without is on an index of PyTorch's own, under
the version with `+cpu` behind it, and so are the packages that are built against it. `--index` is
that index: the lock is then written without these and without all that is there only for CUDA, and
requirements of them beside it, with `--sha256` when their wheels are to be certain ones. Without an
index the lock is used as it is, if torch is in the base already. Run by Dockerfiles; needs nothing
but Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

LOCKED = "locked"
# triton compiles for GPUs alone; what else requires it does without.
ONLY_FOR_CUDA = re.compile(r"(nvidia|cuda)-|triton\b")
BUILT_FOR_TORCH = re.compile(r"(torch|torchaudio|torchcodec|torchvision)==([^ +;\\]+)")


def main() -> int:
    """Write two files of requirements, of which the second may be empty."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("lock", type=Path)
    arguments.add_argument("--index", default="", help=f"an index, or {LOCKED}: torch as locked")
    arguments.add_argument(
        "--sha256", default="", help="of the wheels that the index has, with spaces between them"
    )
    arguments.add_argument("--into", type=Path, required=True, metavar="DIRECTORY")
    options = arguments.parse_args()
    if not options.index and importlib.util.find_spec("torch") is None:
        arguments.error(
            "TORCH_INDEX is not given, expected the index that has torch without CUDA, or "
            f"{LOCKED} for the locked one with 5 GB of CUDA"
        )
    lock = options.lock.read_text()
    splits = options.index not in ("", LOCKED)
    rest, torch = split(lock, sha256=options.sha256.split()) if splits else (lock, ())
    (options.into / "locked.txt").write_text(rest)
    (options.into / "torch.txt").write_text("".join(f"{one}\n" for one in torch))
    return 0


def split(lock: str, *, sha256: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the lock without torch and CUDA, and the requirements of a torch without CUDA."""
    kept, torch = [], {}
    for entry in entries(lock):
        if (found := BUILT_FOR_TORCH.match(entry)) is not None:
            hashes = "".join(f" --hash=sha256:{one}" for one in sha256)
            torch[found[1]] = f"{found[0]}+cpu{hashes}"
        elif ONLY_FOR_CUDA.match(entry) is None:
            kept.append(entry)
    if "torch" not in torch:
        raise ValueError("the lock has no torch, expected torch==VERSION")
    return "".join(kept), tuple(torch.values())


def entries(lock: str) -> Iterator[str]:
    """Yield what a lock says about one package after the other, with its hashes."""
    yield from (one for one in re.split(r"^(?=\S)", lock, flags=re.MULTILINE) if one)


if __name__ == "__main__":
    sys.exit(main())
