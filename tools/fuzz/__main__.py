"""Fuzz every border by coverage: `make fuzz SECONDS=600`, or `python -m tools.fuzz --seconds 600`.

What breaks one lies below out/fuzz afterwards; put it into tools/fuzz/found/<border> with its fix.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.fuzz.border import Border
from tools.fuzz.catalog import catalog
from tools.fuzz.found import FOUND, folder

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "fuzz"


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz one border after the other; 1 when one of them broke."""
    borders = catalog()
    parser = argparse.ArgumentParser(prog="tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all borders together")
    parser.add_argument(
        "--only", metavar="WORD", default="", help="borders with this word in their name"
    )
    given = parser.parse_args(arguments)
    chosen = [border for border in borders if given.only in border.name]
    if not chosen:
        parser.error(f"--only: {given.only!r} is in no name of {[one.name for one in borders]}")
    seconds = max(1, round(given.seconds / len(chosen)))
    broken = [border.name for border in chosen if not _holds(border, seconds)]
    if broken:
        print(f"fuzz: {', '.join(broken)}: broken, look into {OUT}")
        return 1
    print(f"fuzz: {len(chosen)} borders held for {seconds} s each")
    return 0


def _holds(border: Border, seconds: int) -> bool:
    seeds, found = (OUT / folder(border) / kind for kind in ("seeds", "found"))
    for directory in (seeds, found):
        directory.mkdir(parents=True, exist_ok=True)
    known = sorted((FOUND / folder(border)).glob("*"))
    for number, seed in enumerate((*border.seeds, *(path.read_bytes() for path in known))):
        (seeds / f"seed-{number}").write_bytes(seed)
    log = found.parent / "log"
    with log.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "tools.fuzz.guided", border.name, seeds, found, str(seconds)],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            check=False,
        )
    print(f"fuzz: {border.name}: {'held' if done.returncode == 0 else f'broken, see {log}'}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
