"""Fuzzes one border by coverage, in a process of its own: libFuzzer ends it.

`python -m tools.fuzz.guided BORDER SEED_DIRECTORY FOUND_DIRECTORY SECONDS`; needs atheris.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Final

_LONGEST_INPUT: Final = 1 << 14
_MEMORY_MIB: Final = 2048
_SECONDS_OF_ONE: Final = 20
_OURS: Final = [
    "specfleet_common",
    "specfleet_agent",
    "specfleet_aggregator",
    "specfleet_cli",
    "specfleet_trainer",
]


def main() -> None:
    """Fuzz until the time is up or something was found; the exit code says which."""
    name, seeds, found, seconds = sys.argv[1:]

    import atheris

    with atheris.instrument_imports(include=_OURS):
        from tools.fuzz.catalog import find

        border = find(name)
    from tools.fuzz.border import refusal
    from tools.fuzz.mutating import spoilt_bytes, spoilt_json

    def one(data: bytes) -> None:
        refusal(border, data)

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, longest))
        changed = spoilt_json(data, random) if border.is_json else spoilt_bytes(data, random)
        return changed[:longest]

    options = (
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST_INPUT}",
        f"-rss_limit_mb={_MEMORY_MIB}",
        f"-timeout={_SECONDS_OF_ONE}",
        f"-artifact_prefix={Path(found)}/",
        "-verbosity=0",
        "-print_final_stats=0",
    )
    atheris.Setup([name, *options, seeds], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
