"""The command line that all experiments have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.engines import ROOT

MANIFEST = ROOT / "examples/demo.yaml"


@dataclass(frozen=True, slots=True)
class Options:
    """Where to write, how long each part has traffic, and how much is held out and walked."""

    out: Path
    seconds: float
    documents: int
    seed: int


def parse(
    name: str, description: str | None, arguments: Sequence[str], *, seconds: float
) -> Options:
    """Return what the command line asks for; `seconds` is the default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=ROOT / f"out/experiment-{name}")
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="of traffic per part, default %(default)s"
    )
    parser.add_argument(
        "--documents", type=int, default=36, help="held-out ones per language, default %(default)s"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    return Options(given.out.absolute(), given.seconds, given.documents, given.seed)
