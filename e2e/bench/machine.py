"""What this machine is and what it reaches: processor, memory, and the peaks of both."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from e2e.bench.peaks import measure_peaks

TELLING_FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
"""Those that decide how fast matrices are multiplied."""


@dataclass(frozen=True, slots=True)
class Processor:
    """One entry of /proc/cpuinfo; virtual machines often hide the model's name."""

    name: str
    family: int
    model: int
    flags: tuple[str, ...]
    """Of the telling ones, those it has."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the figures come from. Other work on the machine makes all of them worse."""

    processor: Processor
    cores: int
    """That this process may use."""
    memory_bytes: int
    load_average: float
    """Of the minute before the measurements."""


def measure(_folder: Path) -> dict[str, Any]:
    """Return the machine's facts and peaks."""
    machine = this_machine()
    torch.set_num_threads(machine.cores)
    return asdict(machine) | {"peaks": asdict(measure_peaks())}


def this_machine() -> Machine:
    """Read the machine's facts from the kernel."""
    return Machine(
        processor=parse_processor(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        load_average=os.getloadavg()[0],
    )


def parse_processor(cpuinfo: str) -> Processor:
    """Return the first processor of the text of /proc/cpuinfo."""
    first, _, _ = cpuinfo.partition("\n\n")
    fields = dict(line.split(":", 1) for line in first.splitlines())
    values = {name.strip(): value.strip() for name, value in fields.items()}
    flags = set(values["flags"].split())
    return Processor(
        name=values["model name"],
        family=int(values["cpu family"]),
        model=int(values["model"]),
        flags=tuple(flag for flag in TELLING_FLAGS if flag in flags),
    )
